// The receiving end of a ring; see ring.h for what both ends keep to.
#ifndef LCI_NET_SHM_RING_READER_H_
#define LCI_NET_SHM_RING_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/net/shm/message.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Thread safety: free() by any thread at any time, once per message, wait-free. All else one thread
// at a time.
template <class Atomics>
class alignas(line_size) basic_ring_reader {
 public:
  using control_type = basic_ring_control<Atomics>;
  using cell_type = basic_cell<Atomics>;
  enum class result { none, message, corrupt };

  // No message is larger than `max_size` bytes.
  void attach(control_type* control, cell_type* cells, uint32_t shift, size_t max_size) {
    control_ = control;
    cells_ = cells;
    shift_ = shift;
    mask_ = (uint64_t{1} << shift) - 1;
    max_size_ = static_cast<uint32_t>(max_size);
    max_span_ = static_cast<uint32_t>(span_of(max_size));
    spans_.reset(new typename Atomics::template atomic<uint32_t>[mask_ + 1]());
  }

  // The next message, which stays where it is until its position is freed. After a malformed one
  // (`corrupt`) the ring is read no more.
  [[gnu::always_inline]] result next(incoming* out) {
    for (;;) {
      const uint64_t index = read_ & mask_;
      cell_type& first = cells_[index];
      // Each field is copied once: the sender could change it between a check and a use.
      const uint64_t word = first.header.word.load(std::memory_order_acquire);  // A1
      if (stamp_in(word) != stamp_of(read_, shift_)) return result::none;
      const uint64_t span = span_of(size_in(word));
      if (__builtin_expect(kind_in(word) == message_kind::pad, 0)) {
        if (!skip_pad(span)) return result::corrupt;
        continue;
      }
      if (size_in(word) > max_size_ || span > mask_ + 1 - index) return result::corrupt;
      Atomics::plain_read(&first.header.imm, sizeof first.header.imm);
      out->kind = kind_in(word);
      out->imm = static_cast<const volatile basic_cell_header<Atomics>*>(&first.header)->imm;
      out->size = size_in(word);
      out->bytes = first.bytes;
      out->position = read_;
      read_ += span;
      return result::message;
    }
  }

  // Neither next() nor reclaim() would do anything. A look, which is cheaper.
  bool is_idle() const {
    const uint64_t word = cells_[read_ & mask_].header.word.load(std::memory_order_relaxed);
    return stamp_in(word) != stamp_of(read_, shift_) && read_ - published_ <= mask_ / 4;
  }

  // Ends the use of a message. Messages may be freed in any order; the sender has their cells back
  // after a reclaim().
  void free(uint64_t position, size_t size) {
    spans_[position & mask_].store(static_cast<uint32_t>(span_of(size)),
                                   std::memory_order_release);  // R3
  }

  // Gives the sender back what is freed at the front, once that is more than a quarter of the ring:
  // not each time, since it takes the line away from the sender. A quarter is enough for any
  // message, and what is not yet told is no more than that.
  void reclaim() {
    if (__builtin_expect(read_ - published_ > mask_ / 4, 0)) reclaim_front();
  }

  bool sender_closed() const {
    return control_->closed.load(std::memory_order_acquire) != 0;  // A4
  }

 private:
  // It fills the end, and was needed only because a message did not fit there. False if it can't be
  // one. (A pad at the front of the ring can't: there are never two in a row.)
  [[gnu::noinline]] bool skip_pad(uint64_t span) {
    const uint64_t index = read_ & mask_;
    if (span != mask_ + 1 - index || span >= max_span_) return false;
    spans_[index].store(static_cast<uint32_t>(span), std::memory_order_relaxed);
    read_ += span;
    return true;
  }

  [[gnu::noinline]] void reclaim_front() {
    while (freed_ != read_) {
      auto& slot = spans_[freed_ & mask_];
      const uint32_t span = slot.load(std::memory_order_acquire);  // A3
      if (span == 0) break;
      slot.store(0, std::memory_order_relaxed);
      freed_ += span;
    }
    if (freed_ - published_ > mask_ / 4) {
      control_->freed.store(freed_, std::memory_order_release);  // R2
      published_ = freed_;
    }
  }

  // Constant, so that threads that free don't wait for the one that reads.
  cell_type* cells_ = nullptr;
  // spans_[position & mask_] is the span of a message that is freed, until it is reclaimed; else 0.
  // Not in the ring, where the sender could change it.
  std::unique_ptr<typename Atomics::template atomic<uint32_t>[]> spans_;
  control_type* control_ = nullptr;
  uint64_t mask_ = 0;  // cells of the ring - 1
  uint32_t shift_ = 0;
  uint32_t max_span_ = 0;
  uint32_t max_size_ = 0;

  alignas(line_size) uint64_t read_ = 0;  // position after the last message handed out
  uint64_t freed_ = 0;                    // cells below are free
  uint64_t published_ = 0;                // ring_control::freed
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_READER_H_
