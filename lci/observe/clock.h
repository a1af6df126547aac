// A clock that costs a load to read, for the ages of things that wait.
#ifndef LCI_OBSERVE_CLOCK_H_
#define LCI_OBSERVE_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lci::observe {

// Seconds since the process first used the clock. The observer (observer.h) advances it once per
// second, so that reading it on the way of a message costs one load of a line that nobody else
// writes. Without an observer it stands still, and every age is 0.
//
// Thread safety: any thread at any time.
class coarse_clock {
 public:
  static uint32_t seconds() { return seconds_.load(std::memory_order_relaxed); }

  static void advance() {
    static const auto start = std::chrono::steady_clock::now();
    const auto passed = std::chrono::steady_clock::now() - start;
    seconds_.store(
        static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(passed).count()),
        std::memory_order_relaxed);
  }

 private:
  alignas(64) static inline std::atomic<uint32_t> seconds_{0};
};

}  // namespace lci::observe

#endif  // LCI_OBSERVE_CLOCK_H_
