// A barrier of threads, in two halves.
#ifndef LCI_DS_THREAD_BARRIER_H_
#define LCI_DS_THREAD_BARRIER_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/atomics.h"

namespace lci::ds {

// Threads arrive in rounds. The last one of a round acts for all, and then opens the round. How
// threads wait for that is theirs to decide. (A central counter, which counts rounds instead of
// reversing a sense: Mellor-Crummey and Scott, "Algorithms for scalable synchronization on
// shared-memory multiprocessors", 1991. With more threads than processors, a tree would wait for
// threads that do not run; here only the last thread has to run.)
//
// Thread safety: every member by any thread at any time, wait-free. A thread arrives again only
// when its round is open.
//
// Invariants
//   1. One thread of each round is the last, and none if the barrier was broken off before.
//   2. Everything that threads wrote before they arrived is visible to the last one of the round:
//      A, acquire and release in arrive.
//   3. Everything that the last one wrote before it opened the round is visible to those that see
//      it open: B1, the release in open, pairs with B2, the acquire in is_open.
template <class Atomics>
class basic_thread_barrier {
 public:
  // `threads`: 1 to most_threads.
  static constexpr uint64_t most_threads = (uint64_t{1} << 24) - 1;
  explicit basic_thread_barrier(uint64_t threads) : threads_(threads) {}
  basic_thread_barrier(const basic_thread_barrier&) = delete;
  basic_thread_barrier& operator=(const basic_thread_barrier&) = delete;

  struct arrival {
    uint64_t round;  // from 1; 0: the barrier was broken off, and this thread does not wait
    bool is_last;    // it calls open(round)
  };
  arrival arrive() {
    const uint64_t before = arrived_.fetch_add(1, std::memory_order_acq_rel);  // A
    if ((before & broken) != 0) {
      arrived_.fetch_sub(1, std::memory_order_relaxed);
      return {0, false};
    }
    return {before / threads_ + 1, (before + 1) % threads_ == 0};
  }

  uint64_t threads() const { return threads_; }
  // Threads that have come to the round that is not full yet, or not open: for reports, while
  // others arrive.
  uint64_t present() const {
    const uint64_t seen = arrived_.load(std::memory_order_relaxed);
    if ((seen & broken) != 0) return 0;
    const bool is_full = seen % threads_ == 0 && !is_open(seen / threads_);
    return is_full ? threads_ : seen % threads_;
  }

  void open(uint64_t round) { opened_.store(round, std::memory_order_release); }  // B1
  bool is_open(uint64_t round) const {
    return opened_.load(std::memory_order_acquire) >= round;  // B2
  }

  // From here on nobody arrives. A round still opens if all of its threads have arrived. The first
  // call of several counts.
  void break_off() {
    uint64_t seen = arrived_.load(std::memory_order_relaxed);
    while ((seen & broken) == 0) {
      const uint64_t marked = broken | (seen / threads_) << round_shift;
      if (arrived_.compare_exchange_weak(seen, marked, std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
        return;
      }
    }
  }
  // Whether the round will not open.
  bool is_broken(uint64_t round) const {
    const uint64_t seen = arrived_.load(std::memory_order_acquire);
    return (seen & broken) != 0 && (seen & ~broken) >> round_shift < round;
  }

  // No thread waits, or acts for those that do. Threads that a broken round has let go do not
  // count.
  bool is_idle() const {
    const uint64_t seen = arrived_.load(std::memory_order_acquire);
    if ((seen & broken) != 0) return is_open((seen & ~broken) >> round_shift);
    return seen % threads_ == 0 && is_open(seen / threads_);
  }

 private:
  static constexpr uint64_t broken = uint64_t{1} << 63;
  // With the mark, the number of full rounds stands above the bits in which late threads count.
  static constexpr int round_shift = 24;

  const uint64_t threads_;
  alignas(contention_distance) typename Atomics::template atomic<uint64_t> arrived_{0};
  alignas(contention_distance) typename Atomics::template atomic<uint64_t> opened_{0};
};

using thread_barrier = basic_thread_barrier<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_THREAD_BARRIER_H_
