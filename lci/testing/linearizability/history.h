// Calls of several threads to a structure, its answers, and their order in time.
#ifndef LCI_TESTING_LINEARIZABILITY_HISTORY_H_
#define LCI_TESTING_LINEARIZABILITY_HISTORY_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lci/ds/atomics.h"

namespace lci::ds::explorer {

// One call and its answer. A call precedes another call if it returned before the other was
// invoked; calls with equal times do not precede each other.
template <class Operation>
struct call {
  Operation operation;
  uint64_t invoked = 0;
  uint64_t returned = 0;
  size_t thread = 0;
};

template <class Operation>
using history = std::vector<call<Operation>>;

// Clocks: operator() may be called by any thread at any time.

// A counter. An event with a lower number happens before an event with a higher number in the sense
// of the language (the increments form a release sequence). A structure that is linearizable by its
// memory orders is therefore linearizable by this clock on every machine. Each reading is a locked
// instruction on a shared line, which separates the threads slightly, and orders them.
class counting_clock {
 public:
  uint64_t operator()() { return count_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  std::atomic<uint64_t> count_{0};
};

// The time in nanoseconds, which the kernel keeps monotonic across processors. Nothing is shared,
// so the clock hardly disturbs the threads. Only for structures whose operations take effect with a
// locked instruction, or under a lock that the later operation takes too: a plain store may reach
// other threads after its call has returned by this clock.
class time_clock {
 public:
  uint64_t operator()() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
  }
};

// Collects the calls of a fixed number of threads. record() does not allocate until a thread has
// made more calls than announced.
//
// Thread safety: each thread records with its own number; everything else by one thread, while no
// other thread records.
template <class Operation, class Clock = counting_clock>
class recorder {
 public:
  explicit recorder(size_t threads, size_t calls_per_thread = 64) : logs_(threads) {
    for (log& l : logs_) l.calls.reserve(calls_per_thread);
  }

  // Runs make(), which calls the structure and returns the operation with its answer.
  template <class Make>
  void record(size_t thread, const Make& make) {
    const uint64_t invoked = clock_();
    Operation operation = make();
    const uint64_t returned = clock_();
    logs_[thread].calls.push_back({std::move(operation), invoked, returned, thread});
  }

  // All calls since the last take(), by the time of their invocation.
  history<Operation> take() {
    history<Operation> all;
    for (log& l : logs_) {
      all.insert(all.end(), l.calls.begin(), l.calls.end());
      l.calls.clear();
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.invoked < b.invoked; });
    return all;
  }

 private:
  struct alignas(contention_distance) log {
    std::vector<call<Operation>> calls;
  };

  Clock clock_;
  std::vector<log> logs_;
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_LINEARIZABILITY_HISTORY_H_
