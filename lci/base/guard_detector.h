// Detects whether a program guards a device with a lock of its own.
#ifndef LCI_BASE_GUARD_DETECTOR_H_
#define LCI_BASE_GUARD_DETECTOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lci::base {

// Runtimes whose threads share a device often let one thread poll at a time: the other threads fail
// to take a lock, and do other work without calling the library. A thread that yields inside the
// poll sleeps with that lock, and no thread polls until the kernel returns the processor to it.
//
// The detector considers a device guarded if several threads have waited on it, a yield of one of
// them took long, and no other thread has polled the device meanwhile. Threads do not yield on a
// guarded device, except for occasional trials. Without such a lock, while one thread yields,
// another waiting thread polls the device, or yields too, which makes the first yield short.
//
// Thread safety: any thread at any time. Concurrent callers may overwrite each other's
// observations, which a later trial corrects.
class guard_detector {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using nanoseconds = std::chrono::nanoseconds;

  // Trials take at most this fraction (1/50) of a thread's time.
  static constexpr int time_between_trials = 50;

  // `thread`, a number that identifies the calling thread, has polled without success and would
  // yield. Returns whether it may.
  bool may_yield(uint32_t thread, time_point now) {
    const uint32_t last = last_thread_.exchange(thread, std::memory_order_relaxed);
    if (last != thread && last != no_thread) several_.store(true, std::memory_order_relaxed);
    return now.time_since_epoch().count() >= next_trial_.load(std::memory_order_relaxed);
  }

  // The thread has yielded for the time `took`, until `now`.
  void yielded(nanoseconds took, bool is_long, bool others_polled, time_point now) {
    const bool guarded = is_long && !others_polled && several_.load(std::memory_order_relaxed);
    const time_point next = guarded ? now + time_between_trials * took : time_point();
    next_trial_.store(next.time_since_epoch().count(), std::memory_order_relaxed);
    // Old observations say nothing about the next trial.
    several_.store(false, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t no_thread = UINT32_MAX;

  std::atomic<uint32_t> last_thread_{no_thread};
  std::atomic<bool> several_{false};
  std::atomic<time_point::rep> next_trial_{0};  // since the clock's epoch
};

}  // namespace lci::base

#endif  // LCI_BASE_GUARD_DETECTOR_H_
