#ifndef LCI_OBSERVE_EVENT_RING_H_
#define LCI_OBSERVE_EVENT_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/observe/event.h"

namespace lci::observe {

// Keeps the last events of one thread in memory that others read at any time, also when the thread
// has been killed.
//
// Invariants
//   1. Slot (n - 1) % events holds event n, whole, while its first word is n.
//   2. While the first word is 0, the slot holds nothing, or parts of several events. At most one
//      slot is in that state after it has once held an event.
//
// Thread safety: add() by one thread at a time. Wait-free. Readers copy a slot twice (recording.h).
class event_ring {
 public:
  // `slots`: `events` (a power of two) times event_words words, all 0, which outlive the ring.
  event_ring(std::atomic<uint64_t>* slots, uint32_t events) : slots_(slots), mask_(events - 1) {}

  void add(const event& recorded) {
    std::atomic<uint64_t>* const slot = slots_ + (last_ & mask_) * event_words;
    const event_image image = encode(recorded, ++last_);
    // R1: a reader that has seen a word of the new event (release) sees this 0, or a later number,
    // when it looks at the number again (acquire).
    slot[0].store(0, std::memory_order_relaxed);
    for (size_t i = 1; i < event_words; ++i) slot[i].store(image[i], std::memory_order_release);
    slot[0].store(image[0], std::memory_order_release);
  }

 private:
  std::atomic<uint64_t>* const slots_;
  const uint64_t mask_;
  uint64_t last_ = 0;  // number of the last event
};

}  // namespace lci::observe

#endif  // LCI_OBSERVE_EVENT_RING_H_
