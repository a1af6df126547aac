#ifndef LCI_NET_SHM_STORE_SELECTOR_H_
#define LCI_NET_SHM_STORE_SELECTOR_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "lci/base/copy.h"
#include "lci/net/shm/copy_cost.h"

namespace lci::net::shm {

// Chooses the faster stores for large messages of a ring, by measuring both.
//
// Which are faster depends on the processors. Where a line moves quickly between their caches, the
// memory is slower by a factor of two to four; elsewhere it is faster by a factor of two to ten. The
// sender and the receiver may differ, so the selector has the times of both. The receiver reads a
// message alone after the sender has written it: then their sum counts. Of messages that follow one
// another, each writes and reads at the same time: then the longer time counts.
//
// The times also depend on where the lines of the ring are, thus on the stores of the last lap. So
// each phase has whole laps, and times messages of its last lap only: a long phase with the better
// stores, then a trial of two laps with the others.
//
// Thread safety: one thread at a time.
class store_selector {
 public:
  using store_kind = base::store_kind;
  struct choice {
    store_kind stores = store_kind::cached;
    bool timed = false;  // took() and read_costs() are to follow
  };

  // The stores of the next message, which begins in this eighth of the ring, counted through all
  // laps. `alone`: the receiver has read the messages before.
  choice next(uint64_t eighth, bool alone) {
    const bool is_first = eighth != eighth_;
    if (is_first) {
      if (eighth / 8 != eighth_ / 8) begin_lap();
      eighth_ = eighth;
    }
    alone_ = alone;
    return {is_trial_ ? trial_ : best(alone), is_first && lap_ + 1 == laps()};
  }

  // To write `size` bytes, at least 1, took so long.
  void took(store_kind stores, size_t size, std::chrono::nanoseconds time) {
    written_[index(stores)].took(size, time);
  }

  // To read a byte takes so long, in ps, by the receiver's last measurements; 0: not known.
  void read_costs(uint32_t cached, uint32_t past_caches) { read_ = {cached, past_caches}; }

  // Laps of a trial, and of a long phase: few at first and after a change.
  static constexpr int trial_laps = 2;
  static constexpr int least_laps = 2;
  static constexpr int most_laps = 64;

 private:
  static store_kind other(store_kind stores) {
    return stores == store_kind::cached ? store_kind::past_caches : store_kind::cached;
  }
  static size_t index(store_kind stores) { return static_cast<size_t>(stores); }
  store_kind& best(bool alone) { return best_[alone ? 1 : 0]; }

  int laps() const { return is_trial_ ? trial_laps : long_phase_; }  // of this phase

  void begin_lap() {
    if (++lap_ < laps()) return;
    lap_ = 0;
    is_trial_ = !is_trial_;
    if (is_trial_) {
      trial_ = other(best(alone_));
      return;
    }
    long_phase_ = std::min(2 * long_phase_, most_laps);
    for (const bool alone : {false, true}) {
      const store_kind before = best(alone);
      best(alone) = find_best(alone);
      if (best(alone) != before) long_phase_ = least_laps;
    }
  }
  store_kind find_best(bool alone) const {
    // Those past the caches must be clearly faster: other programs need the memory, too.
    const bool is_faster =
        5 * cost(store_kind::past_caches, alone) < 4 * cost(store_kind::cached, alone);
    return is_faster ? store_kind::past_caches : store_kind::cached;
  }
  // ps a byte. 0 for both if one of their times is not known.
  uint64_t cost(store_kind stores, bool alone) const {
    for (const uint32_t known :
         {written_[0].per_byte(), written_[1].per_byte(), read_[0], read_[1]}) {
      if (known == 0) return 0;
    }
    const uint64_t written = written_[index(stores)].per_byte();
    const uint64_t read = read_[index(stores)];
    return alone ? written + read : std::max(written, read);
  }

  std::array<copy_cost, 2> written_;                                           // by store_kind
  std::array<uint32_t, 2> read_ = {};                                          // the same
  std::array<store_kind, 2> best_ = {store_kind::cached, store_kind::cached};  // alone: the second
  uint64_t eighth_ = 0;  // of the last message
  bool alone_ = false;   // the last message
  bool is_trial_ = false;
  store_kind trial_ = store_kind::past_caches;
  int lap_ = 0;                  // of this phase
  int long_phase_ = least_laps;  // laps of the long phase, this one or the last
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_STORE_SELECTOR_H_
