#ifndef LCI_DS_GROWING_QUEUE_H_
#define LCI_DS_GROWING_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/ds/spinlock.h"
#include "lci/ds/ticket_ring.h"

namespace lci::ds {

// A first-in-first-out queue of values without a bound, for any number of producers and consumers:
// a list of rings. Pushes go to the last ring, pops come from the first. A ring that is full is
// closed and the next one linked behind it (Morrison and Afek, "Fast concurrent queues for x86
// processors", PPoPP 2013); one that is closed and drained is taken out and used again. A queue
// whose length stays below one ring thus goes round in that ring and its lines stay in the cache;
// a burst takes more rings, which stay for the next burst until the queue is destroyed.
//
// T is trivially copyable and default-constructible; with up to 56 bytes a value and its sequence
// number fill one cache line.
//
// Thread safety: push and try_pop by any thread at any time; construction and destruction by one.
// Pushing and popping are lock-free as long as the ring does not change (ticket_ring.h); a change,
// once in `ring_capacity` operations at most, is made under a spinlock. Nothing is allocated unless
// more rings are needed than ever before.
//
// Invariants (a ring is *linked* between becoming the last and ceasing to be the first)
//   1. Open means last: only the last ring is open, and it is opened after it was linked.
//   2. A ring is closed only when it is full, so each time it is linked it gets at least `capacity`
//      tickets, and its counters never have the same values again.
//   3. A ring leaves the list only when it is closed and drained; then every push that had a ticket
//      in it has finished, since pops cannot pass an unfinished one.
//   4. first_, last_ and the `next` links change only under change_, in any order of loads a
//      consistent list: next is set before last_, last_ before the ring is opened.
//   5. Rings are freed only with the queue. A thread that was preempted with a ring in its hands
//   may
//      find it drained, unlinked, or linked again, but always a ring.
// Why such a late thread does no harm: a push succeeds only on an open ring, which is the last (1).
// A pop succeeds only if it saw the value of ticket t, then saw the ring be first, then took t. The
// ticket was free from the first to the last of these moments, so the ring was not drained and not
// unlinked in between (3): it is still the first.
template <class T>
class growing_queue {
 public:
  // Values per ring for T of up to 56 bytes: 32 KiB, which stays in a core's private cache.
  static constexpr size_t default_ring_capacity = 512;

  // `ring_capacity` is a power of two. May throw std::bad_alloc.
  explicit growing_queue(size_t ring_capacity = default_ring_capacity)
      : ring_capacity_(ring_capacity) {
    ring* only = new_ring();
    only->cells.open();
    first_.store(only, std::memory_order_relaxed);
    last_.store(only, std::memory_order_relaxed);
  }
  growing_queue(const growing_queue&) = delete;
  growing_queue& operator=(const growing_queue&) = delete;

  // Appends the value. Throws std::bad_alloc if a ring is needed and cannot be had; then the value
  // is not in the queue.
  void push(const T& value) {
    while (last_.load(std::memory_order_acquire)->cells.try_push(value) != result_ok) {
      extend();
    }
  }

  // Takes the oldest value. False if, at one moment during the call, there was none or its push had
  // not finished. (So a thread may get false right after its own push, while another thread is in
  // the middle of an earlier one. With no push under way, false means empty.)
  bool try_pop(T* out) {
    for (;;) {
      ring* const oldest = first_.load(std::memory_order_acquire);
      const auto still_first = [this, oldest] {
        return first_.load(std::memory_order_acquire) == oldest;
      };
      switch (oldest->cells.try_pop(out, still_first)) {
        case ticket_ring<T>::pop_result::ok:
          return true;
        case ticket_ring<T>::pop_result::empty:
        case ticket_ring<T>::pop_result::busy:
          return false;
        case ticket_ring<T>::pop_result::drained:
          if (!drop_first(oldest)) return false;
          break;
        case ticket_ring<T>::pop_result::moved:
          break;
      }
    }
  }

  // Exact if nobody pushes or pops meanwhile; else an estimate. Takes the lock: not for fast paths.
  size_t size() const {
    const std::lock_guard<spinlock> lock(change_);
    size_t total = 0;
    for (const ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
      total += r->cells.size();
    }
    return total;
  }

  // How many rings there are, in use or not. Takes the lock.
  size_t rings() const {
    const std::lock_guard<spinlock> lock(change_);
    return all_.size();
  }

 private:
  static constexpr auto result_ok = ticket_ring<T>::push_result::ok;

  struct ring {
    explicit ring(size_t capacity) : cells(capacity, /*closed=*/true) {}
    ticket_ring<T> cells;
    ring* next = nullptr;  // towards the last; guarded by change_
  };

  ring* new_ring() {
    spare_.reserve(all_.size() + 1);  // room for its return: drop_first cannot fail
    all_.push_back(std::make_unique<ring>(ring_capacity_));
    return all_.back().get();
  }

  // Makes room behind a last ring that was found full.
  void extend() {
    const std::lock_guard<spinlock> lock(change_);
    ring* const full = last_.load(std::memory_order_relaxed);
    // Another thread may have extended, or a pop made room. If it is closed, its successor could
    // not be had when it was (std::bad_alloc).
    if (!full->cells.close_if_full() && !full->cells.is_closed()) return;
    ring* added = nullptr;
    if (spare_.empty()) {
      added = new_ring();
    } else {
      added = spare_.back();
      spare_.pop_back();
    }
    added->next = nullptr;
    full->next = added;
    last_.store(added, std::memory_order_release);
    added->cells.open();
  }

  // Goes to the ring behind `drained`. False if there is none: the queue is empty.
  bool drop_first(ring* drained) {
    const std::lock_guard<spinlock> lock(change_);
    if (first_.load(std::memory_order_relaxed) != drained) return true;
    if (drained->cells.size() != 0 || !drained->cells.is_closed()) return true;  // linked again
    if (drained->next == nullptr) return false;
    first_.store(drained->next, std::memory_order_release);
    spare_.push_back(drained);
    return true;
  }

  const size_t ring_capacity_;
  alignas(contention_distance) std::atomic<ring*> first_{nullptr};
  std::atomic<ring*> last_{nullptr};
  alignas(contention_distance) mutable spinlock change_;
  std::vector<std::unique_ptr<ring>> all_;  // guarded by change_
  std::vector<ring*> spare_;                // guarded by change_; closed and drained
};

}  // namespace lci::ds

#endif  // LCI_DS_GROWING_QUEUE_H_
