#ifndef LCI_NET_SHM_LARGE_PUTS_H_
#define LCI_NET_SHM_LARGE_PUTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "lci/ds/spinlock.h"

namespace lci::net::shm {

// How both ranks copy the bytes of a large put.
enum class copy_path : uint8_t {
  kernel,  // each a part, from or to the other's memory (cooperative_copy.h)
  ring,    // one into the ring and the other out of it, at the same time (requests.h)
};

// Chooses the faster way for the next put, by measuring both.
//
// Which way is faster depends on the distance of the processors, and the system decides where the
// ranks run: between processors that share a cache the ring is two to three times faster; between
// distant ones it has a fifth of the bandwidth of the kernel's copies (docs/performance). So the
// puts come in phases: a long one that goes the better way, then a short trial of the other way.
//
// A phase is measured by the time during which at least one of its puts is under way. Puts of both
// ways at the same time would falsify that: a put through the ring takes part of its time while the
// caller copies the next one through the kernel. So a trial begins when nothing else is under way,
// has few puts under way at a time, and holds the others back; after a trial the long phase counts
// only what begins after the last put of the trial has ended. The long phase lasts at least
// `least_share` times as long as the trial before it.
//
// Times are in ns from any one origin. Thread safety: any thread at any time; wait-free. A
// measurement that meets another thread's in the lock is left out.
class path_selector {
 public:
  // The way of a put that is to begin now. Nothing: the put has to wait until one of those under
  // way has ended.
  std::optional<copy_path> next();
  // A put has begun. For each call there is one of ended() or gave_up().
  void began(copy_path path);
  // A put of `size` bytes that began at `begin` is over at `end`.
  void ended(copy_path path, size_t size, int64_t begin, int64_t end);
  // A put has failed: its time says nothing.
  void gave_up(copy_path path);

  static constexpr int trial = 4;             // puts of a trial that are measured
  static constexpr int between_trials = 124;  // puts of a long phase that are measured, at least
  static constexpr int least_share = 31;

 private:
  struct spent {
    double bytes = 0;
    double time = 0;  // ns
  };

  bool is_trial() const { return now_ != best_; }
  bool is_over() const;
  void begin_phase();
  void measure(copy_path path, size_t size, int64_t begin, int64_t end);
  int under_way(copy_path path) const {
    return under_way_[static_cast<size_t>(path)].load(std::memory_order_relaxed);
  }

  std::array<std::atomic<int>, 2> under_way_ = {};  // puts, by way

  ds::spinlock lock_;  // guards what follows
  copy_path best_ = copy_path::kernel;
  copy_path now_ = copy_path::kernel;  // of this phase; another than the best: a trial
  int least_ = trial;                  // puts that this phase measures
  double least_time_ = 0;              // ns for which this phase lasts
  int measured_ = 0;                   // puts of this phase
  spent spent_;                        // by them
  int64_t last_end_ = 0;               // of any put
  // Only puts that began later are measured; INT64_MAX: some of the phase before are under way.
  int64_t clean_since_ = 0;
  std::array<double, 2> cost_ = {};  // ns a byte, by way; 0: not known
};

// The choosers of a device: for each rank, one for each of two ranges of size.
class large_puts {
 public:
  explicit large_puts(int ranks) : selectors_(new pair[static_cast<size_t>(ranks)]) {}

  std::optional<copy_path> next(int rank, size_t size) { return selector(rank, size).next(); }
  void began(copy_path path, int rank, size_t size) { selector(rank, size).began(path); }
  void ended(copy_path path, int rank, size_t size, int64_t begin) {
    selector(rank, size).ended(path, size, begin, now());
  }
  void gave_up(copy_path path, int rank, size_t size) { selector(rank, size).gave_up(path); }
  static int64_t now();

 private:
  static constexpr size_t very_large = size_t{512} << 10;
  using pair = std::array<path_selector, 2>;

  path_selector& selector(int rank, size_t size) {
    return selectors_[static_cast<size_t>(rank)][size < very_large ? 0 : 1];
  }

  std::unique_ptr<pair[]> selectors_;  // by rank
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_LARGE_PUTS_H_
