// The sending end of a ring; see ring.h for what both ends keep to.
#ifndef LCI_NET_SHM_RING_WRITER_H_
#define LCI_NET_SHM_RING_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "lci/base/copy.h"
#include "lci/ds/biased_lock.h"
#include "lci/net/shm/message.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Thread safety: none; the caller holds `lock`, which is here so that it shares a line with what it
// guards. close() may be called once nobody writes any more.
template <class Atomics>
class alignas(line_size) basic_ring_writer {
 public:
  using control_type = basic_ring_control<Atomics>;
  using cell_type = basic_cell<Atomics>;

  void attach(control_type* control, cell_type* cells, uint32_t shift) {
    control_ = control;
    cells_ = cells;
    shift_ = shift;
    mask_ = (uint64_t{1} << shift) - 1;
    inside_ = std::make_unique<uint64_t[]>(mask_ / 64 + 1);
  }

  // False if there is no room now; then nothing happened.
  [[gnu::noinline]] bool write(message_kind kind, uint32_t imm, const gather& message) {
    const size_t size = message.header_size + message.size;
    const uint64_t span = span_of(size);
    if (!make_room(span) || !ends_well(span)) return false;
    if (span > 1) note_inside(span);
    cell_type* const first = &cells_[written_ & mask_];
    if (message.header_size > 0) copy_in(first, 0, message.header, message.header_size);
    copy_in(first, message.header_size, message.bytes, message.size);
    publish(&first->header, stamp_of(written_, shift_), kind, imm, size);
    written_ += span;
    return true;
  }

  // The same for one that fits into a cell, as most do (fits_a_cell), where that needs no more than
  // the writing: false also if it does. Calls nothing, so that the caller has nothing to save.
  [[gnu::always_inline]] bool write_at_once(message_kind kind, uint32_t imm,
                                            const gather& message) {
    // Copies, which the bytes that are written can't change, as the compiler sees it.
    const uint64_t position = written_;
    const uint64_t mask = mask_;
    const uint64_t end = (position + 1) & mask;
    if (__builtin_expect(position - freed_ > mask, 0)) return false;
    if (__builtin_expect((inside_[end / 64] >> (end % 64) & 1) != 0, 0)) return false;
    const uint32_t stamp = stamp_of(position, shift_);
    cell_type& only = cells_[position & mask];
    written_ = position + 1;
    const size_t size = message.header_size + message.size;
    if (size > 0) Atomics::plain_write(only.bytes, size);
    if (message.header_size > 0) base::copy_short(only.bytes, message.header, message.header_size);
    base::copy_short(only.bytes + message.header_size, message.bytes, message.size);
    publish(&only.header, stamp, kind, imm, size);
    return true;
  }
  static bool fits_a_cell(const gather& message) {
    return message.header_size + message.size <= sizeof(cell_type::bytes);
  }

  // Whether a message of `size` bytes could be written now.
  bool has_room(size_t size) {
    const uint64_t span = span_of(size);
    return make_room(span) && ends_well(span);
  }

  // Tells the receiver that nothing will follow, and that this is no failure.
  void close() { control_->closed.store(1, std::memory_order_release); }  // R4

 private:
  // Room for `span` cells in one piece at written_, with a pad before it if need be.
  bool make_room(uint64_t span) {
    const uint64_t to_end = mask_ + 1 - (written_ & mask_);
    if (span <= to_end) return reserve(span);
    if (!reserve(to_end + span) || !ends_well(to_end)) return false;
    publish(&cells_[written_ & mask_].header, stamp_of(written_, shift_), message_kind::pad, 0,
            to_end * line_size - sizeof(cell_header));
    written_ += to_end;
    return true;
  }
  bool reserve(uint64_t span) {
    return __builtin_expect(written_ + span - freed_ <= mask_ + 1, 1) || refresh(span);
  }
  bool refresh(uint64_t span) {
    const uint64_t freed = control_->freed.load(std::memory_order_acquire);  // A2
    // The value is a peer's: one that cannot be makes no room.
    if (freed > written_ || freed < freed_) return false;
    freed_ = freed;
    return written_ + span - freed_ <= mask_ + 1;
  }

  // Invariant 2 for a message of `span` cells at written_, for which there is room. False if that
  // needs more room.
  bool ends_well(uint64_t span) {
    const uint64_t end = (written_ + span) & mask_;
    return __builtin_expect((inside_[end / 64] >> (end % 64) & 1) == 0, 1) || wipe(span);
  }
  bool wipe(uint64_t span) {
    if (!reserve(span + 1)) return false;
    const uint64_t end = (written_ + span) & mask_;
    cells_[end].header.word.store(0, std::memory_order_relaxed);
    inside_[end / 64] &= ~(uint64_t{1} << (end % 64));
    return true;
  }
  // Before the message of `span` cells at written_ is written.
  void note_inside(uint64_t span) {
    uint64_t index = (written_ & mask_) + 1;
    for (uint64_t left = span - 1; left > 0;) {
      const uint64_t bit = index % 64;
      const uint64_t count = std::min(left, 64 - bit);
      inside_[index / 64] |= (~uint64_t{0} >> (64 - count)) << bit;
      index += count;
      left -= count;
    }
  }

  // To byte `at` of the message that begins in `first`. It runs on over the following cells.
  static void copy_in(cell_type* first, size_t at, const void* from, size_t size) {
    if constexpr (std::is_same_v<Atomics, ds::std_atomics>) {
      base::copy_bytes(first->bytes + at, from, size);
    } else {
      // Where atomics are larger than their values: cell by cell what the above does, with the
      // words that it runs over as the atomics that they are to the receiver, in pieces that none
      // divides.
      const auto* bytes = static_cast<const unsigned char*>(from);
      for (size_t place = sizeof(cell_header) + at, left = size; left > 0;) {
        cell_type& into = first[place / line_size];
        const size_t in_cell = place % line_size;
        size_t count = 0;
        if (in_cell < sizeof(uint64_t)) {
          uint64_t word = 0;
          count = std::min(left, sizeof(word));
          std::memcpy(&word, bytes, count);
          into.header.word.store(word, std::memory_order_relaxed);
        } else if (in_cell < sizeof(cell_header)) {
          count = std::min(left, sizeof(cell_header) - in_cell);
          Atomics::plain_write(&into.header.imm, sizeof into.header.imm);
        } else {
          count = std::min(left, line_size - in_cell);
          unsigned char* const to = into.bytes + (in_cell - sizeof(cell_header));
          Atomics::plain_write(to, count);
          std::memcpy(to, bytes, count);
        }
        bytes += count;
        place += count;
        left -= count;
      }
    }
  }

  // Makes a message whose bytes are in place the receiver's.
  static void publish(basic_cell_header<Atomics>* header, uint32_t stamp, message_kind kind,
                      uint32_t imm, size_t size) {
    Atomics::plain_write(&header->imm, sizeof header->imm);
    header->imm = imm;
    header->word.store(make_word(stamp, kind, static_cast<uint32_t>(size)),
                       std::memory_order_release);  // R1
  }

  uint64_t mask_ = 0;     // cells of the ring - 1
  uint64_t written_ = 0;  // position after the last message
  uint64_t freed_ = 0;    // the last known ring_control::freed
  cell_type* cells_ = nullptr;
  control_type* control_ = nullptr;
  // A bit a cell: set if it was inside a message, not its first. Then its first word may be
  // anything (if it was first, that is an old stamp). The cell at written_ never has it.
  std::unique_ptr<uint64_t[]> inside_;
  uint32_t shift_ = 0;

 public:
  // Here, so that what an owner of it uses is in one line with the above.
  ds::basic_biased_lock<Atomics> lock;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_WRITER_H_
