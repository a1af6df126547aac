#include "lci/runtime/collective/call.h"

#include <stdexcept>
#include <utility>

#include "lci/base/strings.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/collective/neighbor_check.h"
#include "lci/runtime/collective/recorder.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/vain_tests.h"

namespace lci::rt {

target collective_call::target_in(group_t group, runtime_t runtime, device_t device,
                                  endpoint_t endpoint, coll::operation_kind kind) {
  runtime_impl_t& owner = checked_group(group, coll::name_of(kind)).runtime;
  const bool names_nothing = device.is_empty() && endpoint.is_empty();
  const target found = resolve(names_nothing ? runtime_t(&owner) : runtime, device, endpoint);
  if (found.runtime != &owner || (!runtime.is_empty() && runtime.p_impl != &owner)) {
    throw std::invalid_argument(
        base::StrCat("lci: ", coll::name_of(kind), ": the group belongs to another runtime"));
  }
  return found;
}

collective_call::collective_call(const target& where, group_impl_t* group, matching_engine_t engine,
                                 comp_t comp, coll::operation_kind kind)
    : runtime_(*where.runtime),
      group_(group),
      device_(*where.device),
      engine_(runtime_.collective_engine()),
      shared_(runtime_.shared_memory()),
      hosts_(runtime_.hierarchy()),
      comp_(comp.p_impl),
      recorder_(nullptr),
      kind_(kind) {
  if (__builtin_expect(group != nullptr || !engine.is_empty(), 0)) use_options(group, engine);
  if (comp_ == nullptr) {
    if (__builtin_expect(inside_progress(), 0)) refuse_wait_in_handler("", "give it a comp");
    return;
  }
  if (comp == COMP_NULL_RETRY) {
    throw std::invalid_argument(base::StrCat("lci: ", name(), ": comp is COMP_NULL_RETRY"));
  }
  recorder_ = call_recorder::of(*comp_);
}

void collective_call::use_options(group_impl_t* group, matching_engine_t engine) {
  if (group == nullptr) {
    engine_ = resolve(runtime_, engine);
    if (engine_ == runtime_.collective_engine()) return;
    shared_ = nullptr;
    hosts_ = nullptr;
    return;
  }
  if (!engine.is_empty()) {
    throw std::invalid_argument(base::StrCat(
        "lci: ", name(), ": the option matching_engine is given, and the group has its own"));
  }
  engine_ = &group->engine();
  shared_ = group->shared_memory();
  hosts_ = group->hierarchy();
}

void collective_call::refuse_wait_in_handler(const char* inside, const char* instead) const {
  if (!inside_progress() || size() == 1) return;
  throw std::logic_error(base::StrCat("lci: ", inside, name(),
                                      " would have to wait inside a handler, which it may not; ",
                                      instead));
}

void collective_call::begin(coll::signature&& called, reduce_op_t op) {
  called.kind = kind_;
  if (__builtin_expect(recorder_ != nullptr, 0)) return recorder_->begin(*this, called, op);
  number_ = engine_->next_collective(name()) + 1;
  if (__builtin_expect(static_cast<bool>(runtime_.record()), 0)) record(called);
  if (coll::arena* const meets = arena(); meets != nullptr) {
    hash_ = meets->begin(number_, called);
  } else if (hosts_ != nullptr) {
    for (uint64_t phase = 0; phase < hierarchy::phases; ++phase) {
      phase_hashes_[phase] = hosts_->memory().arena().begin(before_phases() + phase + 1, called);
    }
  }
  if (__builtin_expect(device_.is_watched(), 0)) begin_checked(called, op);
}

void collective_call::begin_checked(const coll::signature& called, reduce_op_t op) {
  check_neighbor(*this, called, op);
  if (comp_ == nullptr) return;
  posted_operation posted;
  posted.what = posted_operation::kind::collective;
  posted.call = name();
  posted.comp = comp_;
  posted.runtime = &runtime_;
  posted.device = &device_;
  posted.is_of_any_device = true;
  comp_ = runtime_.checks()->begin(posted);
}

[[gnu::noinline, gnu::cold]] void collective_call::record(const coll::signature& called) const {
  observe::event made = observe::event_sink::moment(observe::event_kind::collective);
  made.peer = called.root;
  made.size = called.size;
  made.detail = number_;
  made.device = static_cast<uint16_t>(engine_->id);
  observe::set_name(&made, name());
  runtime_.record().add(made);
}

const coll::crossovers& collective_call::sizes_of_hosts() const {
  static constexpr coll::crossovers nothing{};
  return hosts_ == nullptr ? nothing : hosts_->memory().arena().sizes();
}

void collective_call::use_messages() const {
  if (coll::arena* const meets = arena(); meets != nullptr) {
    meets->finish(number_);
  } else if (hosts_ != nullptr) {
    for (uint64_t phase = used_phases_; phase < hierarchy::phases; ++phase) {
      hosts_->memory().arena().finish(before_phases() + phase + 1);
    }
  }
}

const hierarchy* collective_call::by_hosts(size_t offered, size_t most_in_area) const {
  if (hosts_ == nullptr || offered > runtime_.attr().coll_hosts_max_size) return nullptr;
  const bool reads = hosts_->joined() == coll::arena::join_state::readable;
  return reads || offered <= most_in_area ? hosts_ : nullptr;
}

void collective_call::use_hosts(uint64_t count) { used_phases_ = count; }

coll::ticket collective_call::host_ticket(uint64_t phase) const {
  return {&hosts_->memory().arena(), before_phases() + phase + 1, phase_hashes_[phase]};
}

void collective_call::check_agreement() const {
  if (coll::arena* const meets = arena(); meets != nullptr) {
    meets->check_agreement(number_);
  } else if (hosts_ != nullptr) {
    hosts_->memory().arena().check_agreement(before_phases() + hierarchy::phases);
  }
}

void collective_call::check_peers() const {
  // An operation that waits for a third rank, which has given up, does not end by itself.
  const int failed = first_failed();
  if (__builtin_expect(failed < 0, 1)) return;
  report_gone(failed);
}

void collective_call::check_deaths() const {
  check_peers();
  for (int r = 0; r < size(); ++r) {
    const int rank = global_rank(r);
    if (rank != runtime_.rank() && device_.is_gone(rank)) report_gone(rank);
  }
}

void collective_call::report_gone(int rank) const { throw_gone(name(), runtime_.rank(), rank); }

void collective_call::run_blocking(coll::operation* operation) const {
  try {
    const auto advance = [this, operation] {
      check_peers();
      try {
        return operation->advance();
      } catch (const coll::memory_error& error) {
        shared_->throw_reason(error, *operation, name(), &device_);
      }
    };
    if (!advance()) {
      wait(advance, /*oversubscribed=*/exceeds_processors(static_cast<size_t>(size())));
    }
  } catch (const peer_failure_error& failure) {
    operation->give_up(failure.failed_rank());
    throw;
  }
  // The completion that this thread waited for arrived without a poll.
  note_found();
}

void collective_call::keep(std::unique_ptr<coll::operation> operation) const {
  recorder_->keep(std::move(operation));
}

void collective_call::run_recorded(coll::operation* operation,
                                   shared_memory::pending* started) const {
  operation->restart(number_, hash_);
  if (comp_ == nullptr) {
    struct ending {
      ~ending() { of->end(); }
      coll::operation* of;
    } end{operation};
    return run_blocking(operation);
  }
  started->operation = operation;
  started->call = name();
  shared_->start(started, shared_memory::may_complete_immediately(*comp_));
}

void refuse_bytes(size_t count, size_t item_size, const char* what) {
  throw std::invalid_argument(
      base::StrCat("lci: ", what, ": ", count, " items of ", item_size, " bytes"));
}

void refuse_buffer(size_t bytes, const char* what, const char* name) {
  if (bytes > max_buffer_bytes) {
    throw std::invalid_argument(base::StrCat("lci: ", what, ": ", name, " has ", bytes,
                                             " bytes, more than the address space"));
  }
  throw std::invalid_argument(
      base::StrCat("lci: ", what, ": ", name, " is null, and has ", bytes, " bytes"));
}

void refuse_op(const char* what) {
  throw std::invalid_argument(base::StrCat("lci: ", what, ": op is null"));
}

void refuse_root(int root, int size, const char* what) {
  throw std::invalid_argument(
      base::StrCat("lci: ", what, ": root is ", root, ", not 0 to ", size - 1));
}

std::vector<size_t> sizes_of(const size_t* counts, size_t item_size, const collective_call& call,
                             const char* name) {
  if (counts == nullptr) {
    throw std::invalid_argument(base::StrCat("lci: ", call.name(), ": ", name, " is null"));
  }
  std::vector<size_t> sizes;
  sizes.reserve(static_cast<size_t>(call.size()));
  for (int r = 0; r < call.size(); ++r) {
    sizes.push_back(bytes_of(counts[r], item_size, call.name()));
  }
  return sizes;
}

size_t sum_of(const std::vector<size_t>& sizes, const char* what) {
  size_t sum = 0;
  for (const size_t each : sizes) {
    if (each > ~size_t{0} - sum) {
      throw std::invalid_argument(
          base::StrCat("lci: ", what, ": the sizes of all ranks exceed the address space"));
    }
    sum += each;
  }
  return sum;
}

coll::block_layout layout_of(const std::vector<size_t>& sizes, const size_t* offsets,
                             const char* what) {
  static_cast<void>(sum_of(sizes, what));
  coll::block_layout layout;
  layout.blocks.reserve(sizes.size());
  size_t next = 0;
  for (size_t r = 0; r < sizes.size(); ++r) {
    layout.blocks.push_back({offsets == nullptr ? next : offsets[r], sizes[r]});
    next += sizes[r];
  }
  return layout;
}

}  // namespace lci::rt
