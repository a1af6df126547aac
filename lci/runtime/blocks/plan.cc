#include "lci/runtime/blocks/plan.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "lci/api/plan.hpp"
#include "lci/base/backoff.h"
#include "lci/base/strings.h"
#include "lci/runtime/completion/checked.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

plan_impl_t::plan_impl_t(runtime_impl_t& owner, const plan_attr_t& attributes, comp_impl_t* comp)
    : runtime(owner), attr(attributes), comp_(comp) {
  runtime.count_plans(1);
}

plan_impl_t::~plan_impl_t() {
  wait_for_end();
  runtime.count_plans(-1);
}

namespace {

// Whether these operations, between one block and another, are better done one after the other by
// one step, than each by itself: none of them is ever waited for.
bool are_runs(const std::vector<rt::block_operation>& operations) {
  if (operations.size() < 2) return false;
  for (const rt::block_operation& each : operations) {
    if (each.stripes() != 1) return false;
    const rt::stripe stripe = each.stripe_at(0);
    if (!stripe.device->rma.completes_immediately(stripe.rank, stripe.size, stripe.local))
      return false;
  }
  return true;
}

}  // namespace

void plan_impl_t::wait_for_end() const {
  base::backoff backoff;
  while (!is_over()) backoff.idle();
}

void plan_impl_t::add(const std::vector<rt::block_operation>& operations, comp_impl_t* comp) {
  if (is_running()) {
    rt::throw_logic_error("plan \"", attr.name, "\" is running, and can't be added to");
  }
  wait_for_end();
  if (are_runs(operations)) {
    step& made = add_step(operations.front().stripe_at(0), comp, /*part=*/0);
    for (const rt::block_operation& operation : operations) {
      const rt::stripe stripe = operation.stripe_at(0);
      made.own_runs.push_back({stripe.buffer, stripe.size, stripe.remote_offset});
    }
    made.runs = made.own_runs.data();
    made.run_count = made.own_runs.size();
  } else {
    size_t stripes = 0;
    for (const rt::block_operation& each : operations)
      stripes += static_cast<size_t>(each.stripes());
    size_t n = 0;
    for (const rt::block_operation& operation : operations) {
      for (int i = 0; i < operation.stripes(); ++i) {
        add_step(operation.stripe_at(i), comp, rt::part_number(n++, stripes));
      }
    }
  }
  attr.plan_size += operations.size();
  ended_steps_.store(0, std::memory_order_relaxed);
}

plan_impl_t::step& plan_impl_t::add_step(const rt::stripe& stripe, comp_impl_t* comp,
                                         uint32_t part) {
  step& made = steps_.emplace_back();
  made.plan = this;
  made.device = stripe.device;
  made.mr = stripe.mr;
  made.serial = stripe.serial;
  static_cast<net::op&>(made.whole) = stripe;
  made.whole.comp = comp;
  made.whole.part = part;
  made.signal = stripe.signal;
  made.signal.part = part;
  return made;
}

void plan_impl_t::start() {
  for (const step& each : steps_) rt::check_memory("plan_start", each.mr, each.serial);
  const size_t n = steps_.size();
  size_t idle = 0;
  // Acquire pairs with the release in end_step.
  if (!left_.compare_exchange_strong(idle, n, std::memory_order_acquire)) {
    rt::throw_logic_error("plan_start: plan \"", attr.name, "\" is running, ", idle,
                          " of its parts are not complete");
  }
  failed_rank_.store(none, std::memory_order_relaxed);
  rounds_started_.fetch_add(1, std::memory_order_relaxed);
  if (n == 0) {
    rounds_ended_.fetch_add(1, std::memory_order_relaxed);
    if (comp_ != nullptr) comp_->signal(status_t(errorcode_t::done));
    return;
  }
  // Behind the last step the plan may be gone.
  auto next = steps_.begin();
  for (size_t i = 0; i < n; ++i) (next++)->start();
}

void plan_impl_t::step::start() {
  device->rma.opened();
  const error_t result = rma_transfer::start(*device, /*may_wait=*/true);
  if (!result.is_posted()) transfer_ended(*device, result.errorcode);
}

void plan_impl_t::step::transfer_ended(rt::protocol_host&, errorcode_t code) {
  device->rma.closed();
  plan->end_step(*this, code);
}

void plan_impl_t::end_step(const step& finished, errorcode_t code) {
  const rt::operation ended = finished.whole;  // a copy: the step may be started again at once
  if (code == errorcode_t::fatal) failed_rank_.store(ended.rank, std::memory_order_relaxed);
  const size_t n = steps_.size();
  left_.fetch_sub(1, std::memory_order_release);
  if (ended.comp != nullptr) ended.signal(code);
  if ((ended_steps_.fetch_add(1, std::memory_order_acq_rel) + 1) % n != 0) return;
  const int failed = failed_rank_.load(std::memory_order_relaxed);
  status_t status(failed == none ? errorcode_t::done : errorcode_t::fatal);
  status.rank = failed;
  status.user_context = attr.user_context;
  comp_impl_t* const comp = comp_;
  rounds_ended_.fetch_add(1, std::memory_order_release);  // the plan may be gone now
  if (comp != nullptr) comp->signal(status);
}

bool plan_impl_t::test() const {
  if (!is_over()) return false;
  const int failed = failed_rank_.load(std::memory_order_relaxed);
  if (__builtin_expect(failed == none, 1)) return true;
  const std::string what = base::StrCat("lci: plan_test: plan \"", attr.name, "\" of rank ",
                                        runtime.rank(), ": rank ", failed);
  if (steps_.front().device->is_gone(failed)) throw peer_failure_error(failed, what + " is gone");
  throw std::runtime_error(what + " is gone, or has closed the memory of its block");
}

// The public operations.

plan_impl_t& rt::checked_plan(plan_t plan, const char* call) {
  return checked_object(plan, call, "plan");
}

plan_t alloc_plan_x::operator()() const {
  comp_impl_t* comp = nullptr;
  if (!(get_comp() == COMP_NULL)) comp = rt::checked(get_comp(), "alloc_plan");
  return new plan_impl_t(*rt::resolve(get_runtime()), resolve(global_attr_t()), comp);
}

void free_plan_x::operator()() const {
  plan_impl_t* const impl = &rt::checked_plan(rt::handle_at(get_plan(), "free_plan"), "free_plan");
  if (impl->is_running()) {
    rt::throw_logic_error("free_plan: plan \"", impl->attr.name, "\" is running");
  }
  delete impl;
  *get_plan() = plan_t();
}

void plan_add(plan_t plan, direction_t direction, const block_t& local, const block_t& remote,
              const block_options_t& options) {
  const char* const call = direction == direction_t::OUT ? "plan_put" : "plan_get";
  plan_impl_t& impl = rt::checked_plan(plan, call);
  block_options_t effective = options;
  if (effective.runtime.is_empty() && effective.device.is_empty() && effective.rails == nullptr) {
    effective.runtime = &impl.runtime;
  }
  const rt::block_operation operation(call, direction, local, remote, effective);
  impl.add({operation}, operation.comp());
}

void plan_start_x::operator()() const { rt::checked_plan(get_plan(), "plan_start").start(); }

bool plan_test_x::operator()() const { return rt::checked_plan(get_plan(), "plan_test").test(); }

}  // namespace lci
