#ifndef LCI_NET_SHM_GET_SELECTOR_H_
#define LCI_NET_SHM_GET_SELECTOR_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "lci/ds/spinlock.h"

namespace lci::net::shm {

// Chooses who copies a large message that is alone, by measuring both: the receiver gets it by one
// system call, or the sender puts it (large_puts.h).
//
// Which is faster depends on the processors and on the size. Between near processors of a Zen 3, a
// message of 64 KiB that is put takes 0.7 of the time; on a Zen 4, one that is got takes 0.9.
//
// Messages come in phases: a long one in which they take the better way, then a trial of the other
// one. Of each phase, the fastest of the last messages counts: the others may have waited for their
// receive.
//
// Thread safety: any thread at any time; wait-free. A measurement that meets another thread's in the
// lock is left out.
class get_selector {
 public:
  // How it begins.
  void assume(bool gets) {
    best_ = gets;
    gets_.store(gets, std::memory_order_relaxed);
  }

  // Whether the receiver gets the next message.
  bool gets() const { return gets_.load(std::memory_order_relaxed); }

  // A message of `size` bytes, alone, is there, and has taken so long.
  void came(bool got, size_t size, std::chrono::nanoseconds time);

  static constexpr int trial = 8;             // messages of a trial, and of the first phase
  static constexpr int between_trials = 248;  // of a long phase

 private:
  bool is_trial() const { return gets() != best_; }
  int length() const { return is_trial() ? trial : long_phase_; }  // of this phase, in messages
  void end_phase();

  std::atomic<bool> gets_{true};  // in this phase
  ds::spinlock lock_;             // guards what follows
  bool best_ = true;              // what is measured to be better: to get
  int messages_ = 0;              // of this phase
  int long_phase_ = trial;        // the length of the long phase, this one or the last
  double fastest_ = std::numeric_limits<double>::infinity();  // ns a byte, of this phase
  std::array<double, 2> costs_ = {};                          // of the last phase of each way
};

// Those of a device: for each rank, one for each range of sizes.
class get_selectors {
 public:
  // Messages of at least so many bytes are put.
  static constexpr size_t largest = size_t{512} << 10;

  explicit get_selectors(int ranks);

  // `size`: less than `largest`.
  get_selector& of(int rank, size_t size) {
    return selectors_[static_cast<size_t>(rank)][range_of(size)];
  }

 private:
  static constexpr int ranges = 4;
  static constexpr size_t smallest = largest >> ranges;
  static size_t range_of(size_t size);

  std::unique_ptr<std::array<get_selector, ranges>[]> selectors_;  // by rank
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_GET_SELECTOR_H_
