#include "lci/runtime/coll/call.h"

#include <stdexcept>

#include "lci/base/strings.h"
#include "lci/runtime/poll.h"
#include "lci/runtime/wait.h"

namespace lci::rt {

collective_call::collective_call(const target& where, matching_engine_t engine, comp_t comp,
                                 coll::operation_kind kind)
    : runtime_(*where.runtime),
      device_(*where.device),
      engine_(engine.is_empty() ? *runtime_.collective_engine() : *resolve(runtime_, engine)),
      comp_(comp.p_impl),
      kind_(kind) {
  if (comp == COMP_NULL_RETRY) {
    throw std::invalid_argument(base::StrCat("lci: ", name(), ": comp is COMP_NULL_RETRY"));
  }
  if (comp_ == nullptr && inside_progress() && size() > 1) {
    throw std::logic_error(base::StrCat("lci: ", name(),
                                        " would have to wait inside a handler, which it may not; "
                                        "give it a comp"));
  }
}

void collective_call::begin(coll::signature called) {
  called.kind = kind_;
  number_ = engine_.next_collective(name()) + 1;
  if (__builtin_expect(static_cast<bool>(runtime_.record()), 0)) record(called);
  if (coll::arena* const meets = arena(); meets != nullptr) hash_ = meets->begin(number_, called);
}

[[gnu::noinline, gnu::cold]] void collective_call::record(const coll::signature& called) const {
  observe::event made = observe::event_sink::moment(observe::event_kind::collective);
  made.peer = called.root;
  made.size = called.size;
  made.detail = number_;
  made.device = static_cast<uint16_t>(engine_.id);
  observe::set_name(&made, name());
  runtime_.record().add(made);
}

coll::arena* collective_call::arena() const {
  shared_memory* const shared = runtime_.shared_memory();
  return shared != nullptr && &engine_ == runtime_.collective_engine() ? &shared->arena() : nullptr;
}

void collective_call::use_messages() const {
  if (coll::arena* const meets = arena(); meets != nullptr) meets->finish(number_);
}

bool collective_call::is_shared(size_t offered, size_t most_in_area) const {
  coll::arena* const meets = arena();
  if (meets == nullptr) return false;
  switch (meets->joined()) {
    case coll::arena::join_state::readable:
      return true;
    case coll::arena::join_state::mapped:
      return offered <= most_in_area;
    default:
      return false;
  }
}

void collective_call::check_agreement() const {
  if (coll::arena* const meets = arena(); meets != nullptr) meets->check_agreement(number_);
}

void collective_call::check_peers() const {
  // What waits for a third rank, which has given up, does not end by itself.
  if (__builtin_expect(!runtime_.any_failed(), 1)) return;
  const int failed = runtime_.first_failed();
  throw peer_failure_error(
      failed, base::StrCat("lci: ", name(), " on rank ", rank(), ": rank ", failed, " is gone"));
}

void collective_call::run_blocking(coll::operation* operation) const {
  try {
    wait_until(&device_, {name(), observe::rank_report::any_rank, number_}, [this, operation] {
      check_peers();
      return operation->advance();
    });
  } catch (const peer_failure_error& failure) {
    operation->give_up(failure.failed_rank());
    throw;
  }
  // What this thread waited for came without a poll.
  thread_polls::own.reset();
}

size_t bytes_of(size_t count, size_t item_size, const char* what) {
  if (count != 0 && item_size > ~size_t{0} / count) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": ", count, " items of ", item_size, " bytes"));
  }
  return count * item_size;
}

void check_buffer(const void* buffer, size_t bytes, const char* what, const char* name) {
  if (buffer == nullptr && bytes > 0) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": ", name, " is null, and has ", bytes, " bytes"));
  }
}

void check_op(reduce_op_t op, const char* what) {
  if (op == nullptr) throw std::invalid_argument(base::StrCat("lci: ", what, ": op is null"));
}

void check_root(int root, int size, const char* what) {
  if (root < 0 || root >= size) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": root is ", root, ", not 0 to ", size - 1));
  }
}

}  // namespace lci::rt
