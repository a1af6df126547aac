#include "lci/runtime/completion/impl.h"

#include <mutex>

#include "lci/base/backoff.h"
#include "lci/runtime/core/first_exception.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/core/throw.h"

namespace lci::rt {
[[gnu::no_sanitize("vptr")]] void library_comp::end(void* memory, size_t alignment) {
  // As in live.h. The base comes first in all of them.
  *const_cast<volatile attr_comp_type_t*>(&static_cast<library_comp*>(memory)->attr.comp_type) =
      freed;
  quarantine(memory, alignment);
}

synchronizer::synchronizer(const comp_attr_t& attributes)
    : library_comp(attributes),
      threshold_(attributes.sync_threshold),
      statuses_(
          base::make_aligned_array<status_t>(static_cast<size_t>(attributes.sync_threshold))) {}

synchronizer::~synchronizer() {
  lock();
  lock_.unlock();
}

void synchronizer::lock() {
  base::backoff backoff;
  while (!lock_.try_lock()) backoff.idle();
}

void synchronizer::signal(status_t status) {
  if (const ds::biased_lock::owner_guard guard(lock_); guard) return add(status);
  lock();
  const std::lock_guard<ds::biased_lock> guard(lock_, std::adopt_lock);
  add(status);
}

// Requires lock_.
inline void synchronizer::add(const status_t& status) {
  // S1: acquire pairs with S4, so that this status is not written before the last round's are read.
  const int filled = filled_.load(std::memory_order_acquire);
  if (__builtin_expect(filled == threshold_, 0)) {
    throw_logic_error("synchronizer \"", attr.name, "\" was signaled ", filled + 1,
                      " times and waits for ", threshold_);
  }
  statuses_[static_cast<size_t>(filled)] = status;
  filled_.store(filled + 1, std::memory_order_release);  // S2: pairs with S3
}

bool synchronizer::ready() const {
  return filled_.load(std::memory_order_acquire) == threshold_;  // S3: pairs with S2
}

void synchronizer::read_signals(const void* sync, observe::rank_report::wait* reported) {
  const auto& read = *static_cast<const synchronizer*>(static_cast<const comp_impl_t*>(sync));
  reported->signals = static_cast<uint64_t>(read.filled_.load(std::memory_order_relaxed));
  reported->threshold = static_cast<uint64_t>(read.threshold_);
}

std::optional<status_t> synchronizer::take(status_t* out) {
  std::optional<status_t> failed;
  for (int i = 0; i < threshold_; ++i) {
    const status_t& each = statuses_[static_cast<size_t>(i)];
    if (each.is_fatal() && !failed) failed = each;
    if (out != nullptr) out[i] = each;
  }
  filled_.store(0, std::memory_order_release);  // S4: pairs with S1
  return failed;
}

void signal_each(comp_impl_t& comp, const status_t* statuses, size_t count,
                 std::exception_ptr* failure) {
  if (is_of_type(comp, attr_comp_type_t::cq) &&
      static_cast<completion_queue&>(comp).try_signal_all(statuses, count)) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    try {
      comp.signal(statuses[i]);
    } catch (...) {
      keep_first_exception(failure);
    }
  }
}

void growing_completion_queue::describe(observe::rank_report* report) {
  const size_t statuses = queue_.size();
  if (statuses == 0) return;
  add_entry(report, &report->queues, observe::rank_report::queue{attr.name, statuses});
}

fixed_completion_queue::fixed_completion_queue(const comp_attr_t& attributes)
    : completion_queue(attributes), queue_(static_cast<size_t>(attributes.cq_default_length)) {}

void fixed_completion_queue::signal(status_t status) {
  if (!queue_.try_push(status)) {
    throw_runtime_error("completion queue \"", attr.name, "\" of ", attr.cq_default_length,
                        " statuses is full, and one was lost; pop more often, "
                        "make it longer, or use cq_type lcrq");
  }
}

}  // namespace lci::rt
