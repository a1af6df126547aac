#include "lci/runtime/collective/persistent.h"

#include <stdexcept>
#include <utility>
#include <variant>

#include "lci/base/strings.h"
#include "lci/runtime/completion/checked.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

namespace rt {

const char call_recorder::mark[] = "recorder of a collective operation";

call_recorder::call_recorder() { attr.name = mark; }

}  // namespace rt

// Recording.

persistent_coll_impl_t::persistent_coll_impl_t(const persistent_coll_attr_t& attributes,
                                               collective_t collective)
    : attr(attributes) {
  std::visit(
      [this](auto& operation) {
        const comp_t comp = operation.get_comp();
        if (comp == COMP_NULL_RETRY) return operation();  // throws
        if (!comp.is_empty()) comp_ = rt::checked(comp, "alloc_persistent_coll");
        operation.comp(&recorder_);
        operation();
      },
      collective);
  count(1);
}

void persistent_coll_impl_t::recorder::begin(const rt::collective_call& call,
                                             const coll::signature& called, reduce_op_t op) {
  owner_.call_.emplace(call.recorded(owner_.comp_));
  owner_.called_ = called;
  owner_.op_ = op;
}

void persistent_coll_impl_t::recorder::keep(std::unique_ptr<coll::operation> operation) {
  owner_.operation_ = std::move(operation);
}

void persistent_coll_impl_t::recorder::keep(
    std::unique_ptr<rt::collective_schedule::recorded> steps) {
  owner_.steps_ = std::move(steps);
}

void persistent_coll_impl_t::count(int more) const {
  call_->runtime().count_persistent_colls(more);
  if (call_->group() != nullptr) call_->group()->count_persistent_colls(more);
}

// Starting.

void persistent_coll_impl_t::check_usable() const {
  const char* const what = "persistent_coll_start";
  if (comp_ != nullptr) {
    rt::checked(comp_, what);
  } else {
    call_->refuse_wait_in_handler("persistent_coll_start: ", "record it with a comp");
  }
  if (call_->group() != nullptr) rt::checked_group(call_->group(), what);
  rt::check_device(call_->device());
  rt::check_live(call_->engine(), "matching engine");
}

void persistent_coll_impl_t::start() {
  check_usable();
  // Acquire pairs with the release where the last start ends.
  state found = state::idle;
  if (!state_.compare_exchange_strong(found, state::started, std::memory_order_acquire)) {
    throw std::logic_error(base::StrCat(
        "lci: persistent_coll_start: persistent collective \"", attr.name, "\" (", call_->name(),
        found == state::broken ? ") was broken off by an error, and its messages have not ended"
                               : ") is in progress"));
  }
  rt::collective_call call(*call_);
  try {
    call.begin(coll::signature(called_), op_);
  } catch (...) {
    state_.store(state::idle, std::memory_order_release);
    throw;
  }
  announced_ = call.comp();
  if (operation_ != nullptr) {
    start_in_shared_memory(call);
  } else {
    start_messages(&call);
  }
}

// With a comp, the object may be gone behind the start.
void persistent_coll_impl_t::start_in_shared_memory(const rt::collective_call& call) {
  if (announced_ != nullptr) {
    pending_.comp = &recorder_;
    return call.run_recorded(operation_.get(), &pending_);
  }
  struct ending {
    ~ending() { of.store(state::idle, std::memory_order_release); }
    std::atomic<state>& of;
  } end{state_};
  call.run_recorded(operation_.get(), nullptr);
}

void persistent_coll_impl_t::start_messages(rt::collective_call* call) {
  const bool blocks = announced_ == nullptr;
  steps_->start(call);
  if (blocks) wait_for_messages(*call);
}

void persistent_coll_impl_t::wait_for_messages(const rt::collective_call& call) {
  errorcode_t code = errorcode_t::done;
  try {
    rt::wait_for_messages(
        call, [this] { return state_.load(std::memory_order_acquire) == state::ended; });
    code = code_;
  } catch (...) {
    state found = state::started;
    if (!state_.compare_exchange_strong(found, state::broken, std::memory_order_acq_rel)) {
      state_.store(state::idle, std::memory_order_release);
    }
    throw;
  }
  state_.store(state::idle, std::memory_order_release);
  rt::check_end_of_messages(call, code);
}

void persistent_coll_impl_t::end(status_t status) {
  if (!status.is_done() && steps_ != nullptr) steps_->break_off();
  if (comp_impl_t* const announced = announced_; announced != nullptr) {
    status.user_context = attr.user_context;
    state_.store(state::idle, std::memory_order_release);  // the object may be gone now
    return announced->signal(status);
  }
  code_ = status.error.errorcode;
  state found = state::started;
  if (state_.compare_exchange_strong(found, state::ended, std::memory_order_acq_rel)) return;
  found = state::broken;
  if (state_.compare_exchange_strong(found, state::idle, std::memory_order_acq_rel)) return;
  delete this;
}

void persistent_coll_impl_t::free() {
  state found = state::broken;
  const bool is_broken =
      state_.compare_exchange_strong(found, state::abandoned, std::memory_order_acq_rel);
  if (!is_broken && found != state::idle) {
    throw std::logic_error(base::StrCat("lci: free_persistent_coll: persistent collective \"",
                                        attr.name, "\" (", call_->name(), ") is in progress"));
  }
  count(-1);
  if (!is_broken) delete this;
}

// The public operations.

namespace {

persistent_coll_impl_t& checked_persistent_coll(persistent_coll_t handle, const char* call) {
  return rt::checked_object(handle, call, "persistent collective");
}

}  // namespace

persistent_coll_t alloc_persistent_coll_x::operator()() const {
  return new persistent_coll_impl_t(resolve(global_attr_t()), get_collective());
}

void persistent_coll_start_x::operator()() const {
  checked_persistent_coll(get_persistent_coll(), "persistent_coll_start").start();
}

void free_persistent_coll_x::operator()() const {
  persistent_coll_t& handle = rt::handle_at(get_persistent_coll(), "free_persistent_coll");
  checked_persistent_coll(handle, "free_persistent_coll").free();
  handle = persistent_coll_t();
}

}  // namespace lci
