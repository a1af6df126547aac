// Finds that one thread pushes to a queue and one pops from it.
#ifndef LCI_DS_LONE_PAIR_H_
#define LCI_DS_LONE_PAIR_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"
#include "lci/ds/owned_ring.h"
#include "lci/ds/per_thread.h"

namespace lci::ds {

// When an lcrq uses SPSC segments, and the type of their rings. Tests use other policies.
struct default_spsc_policy {
  // SPSC segments begin after first_rounds pushes, then after eight times as many each time, up to
  // most_rounds.
  static constexpr uint64_t first_rounds = 64;
  static constexpr uint64_t most_rounds = uint64_t{1} << 30;
  template <class T, class Atomics>
  using ring = owned_ring<T, Atomics>;
};

// Whether a queue has had one pusher and one popper for long enough that an lcrq begins SPSC
// segments for them: for as many pushes as needed, and for eight times as many each time.
//
// Thread safety: all members by one thread at a time, except those of a place, which belongs to its
// thread.
template <class Atomics, class SpscPolicy>
class lone_pair {
  template <class U>
  using atomic = typename Atomics::template atomic<U>;

 public:
  // State of one thread.
  struct alignas(contention_distance) place {
    slot_name slot = 0;  // owned by the thread between two operations
    // Numbers of operations outside SPSC segments; written by the thread only.
    atomic<uint64_t> pushes{0};
    atomic<uint64_t> pops{0};
    atomic<bool> pushing{false};  // in such a push; written by the thread only
    // Only for the thread: when it next checks whether it is alone, and how long it waits after
    // that.
    uint64_t asks_at = SpscPolicy::first_rounds;
    uint64_t patience = SpscPolicy::first_rounds;
    uint32_t number = 0;  // of the thread
    // The counts at the last check by any thread; guarded as the lone_pair is.
    uint64_t pushes_seen = 0;
    uint64_t pops_seen = 0;

    // Counts an operation of the thread, and returns their number.
    static uint64_t count(atomic<uint64_t>& operations) {
      const uint64_t counted = operations.load(std::memory_order_relaxed) + 1;
      operations.store(counted, std::memory_order_relaxed);
      return counted;
    }
    // The thread checks now, at this number of its pushes.
    void ask_later(uint64_t now) {
      asks_at = now + patience;
      patience = std::min(2 * patience, most_patience);
    }
  };

  // Returns the only thread that pops if `mine`, which has pushed `pushes` times, has been the only
  // one that pushes for long enough; otherwise null.
  const place* find_popper(const per_thread<place, Atomics>& places, const place& mine,
                           uint64_t pushes) {
    const uint64_t seen = mine.pushes_seen;
    const place* const popper = look_around(places, mine);
    if (popper == nullptr) {
      candidate_ = nullptr;
      return nullptr;
    }
    if (candidate_ != &mine) {
      candidate_ = &mine;
      alone_from_ = seen;
    }
    return pushes - alone_from_ < needed_rounds_ ? nullptr : popper;
  }
  // The next pair has to be alone for longer.
  void wait_longer() {
    if (needed_rounds_ < SpscPolicy::most_rounds) needed_rounds_ *= 8;
  }
  // Another thread has used the queue.
  void forget() { candidate_ = nullptr; }

 private:
  static constexpr uint64_t most_patience = uint64_t{1} << 16;

  // Returns the thread that has popped since the last look, if it is the only one and only `mine`
  // has pushed; otherwise null.
  static const place* look_around(const per_thread<place, Atomics>& places, const place& mine) {
    const place* popper = nullptr;
    bool alone = true;
    for (size_t number = 0; number < places.size(); ++number) {
      place* const one = places.find(number);
      if (one == nullptr) continue;
      const uint64_t pushes = one->pushes.load(std::memory_order_relaxed);
      const uint64_t pops = one->pops.load(std::memory_order_relaxed);
      if (one != &mine && pushes != one->pushes_seen) alone = false;
      if (pops != one->pops_seen) {
        if (popper != nullptr) alone = false;
        popper = one;
      }
      one->pushes_seen = pushes;
      one->pops_seen = pops;
    }
    return alone ? popper : nullptr;
  }

  uint64_t needed_rounds_ = SpscPolicy::first_rounds;  // for the next pair
  const place* candidate_ = nullptr;                   // the only pusher at the last look,
  uint64_t alone_from_ = 0;                            // since this number of its pushes
};

}  // namespace lci::ds

#endif  // LCI_DS_LONE_PAIR_H_
