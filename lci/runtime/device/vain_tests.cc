#include "lci/runtime/device/vain_tests.h"

#include <chrono>

#include "lci/runtime/device/device.h"

namespace lci::rt {

[[gnu::noinline]] void vain_tests::count(bool takes_long) {
  const uint32_t polls = thread_polls::own.activity();
  relies_ = polls == polls_;
  polls_ = polls;
  if (!relies_) {
    backoff_.stay();
  } else if (!backoff_.is_timed()) {
    backoff_.idle_for(counted_);
  } else {
    const auto now = std::chrono::steady_clock::now();
    const auto begin = takes_long ? last_ : now;
    last_ = now;
    if (backoff_.idle(this, begin, now)) yield();
  }
  count_anew();
}

[[gnu::noinline]] void vain_tests::count_found() {
  if (!backoff_.is_timed()) backoff_.idle_for(counted_ - left_);
  backoff_.found();
  count_anew();
}

// Not inside a handler, where the thread would keep the device that it polls.
void vain_tests::yield() {
  if (inside_progress() || !may_yield_.load(std::memory_order_relaxed)) {
    backoff_.stay();
  } else {
    backoff_.yield();
  }
}

}  // namespace lci::rt
