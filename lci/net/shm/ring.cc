#include "lci/net/shm/ring.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace lci::net::shm {

// ---- sender -------------------------------------------------------------------------------------

bool ring_writer::reserve(uint64_t span) {
  if (written_ + span - freed_ <= count_) return true;
  freed_ = control_->freed.load(std::memory_order_acquire);  // A2
  // The value is a peer's: one that cannot be makes room for nothing.
  if (freed_ > written_) freed_ = written_;
  return written_ + span - freed_ <= count_;
}

// A message that does not fit before the end of the ring needs the room of the pad as well.
bool ring_writer::has_room(size_t size) {
  const uint64_t span = span_of(size);
  const uint64_t to_end = count_ - written_ % count_;
  return reserve(span > to_end ? to_end + span : span);
}

bool ring_writer::write(message_kind kind, uint32_t imm, const gather& message) {
  const size_t size = message.header_size + message.size;
  if (!has_room(size)) return false;
  const uint64_t span = span_of(size);
  const uint64_t to_end = count_ - written_ % count_;
  if (span > to_end) {
    cell& pad = cells_[written_ % count_];
    pad.header.size = static_cast<uint32_t>(to_end * line_size - sizeof(cell_header));
    pad.header.imm = 0;
    pad.header.kind = static_cast<uint32_t>(message_kind::pad);
    pad.header.stamp.store(stamp_of(written_, count_), std::memory_order_release);  // R1
    written_ += to_end;
  }
  cell& first = cells_[written_ % count_];
  first.header.size = static_cast<uint32_t>(size);
  first.header.imm = imm;
  first.header.kind = static_cast<uint32_t>(kind);
  unsigned char* to = first.bytes;
  if (message.header_size > 0) std::memcpy(to, message.header, message.header_size);
  if (message.size > 0) std::memcpy(to + message.header_size, message.bytes, message.size);
  first.header.stamp.store(stamp_of(written_, count_), std::memory_order_release);  // R1
  written_ += span;
  return true;
}

// ---- receiver -----------------------------------------------------------------------------------

void ring_reader::attach(ring_control* control, cell* cells, uint32_t count) {
  control_ = control;
  cells_ = cells;
  count_ = count;
  spans_.reset(new std::atomic<uint16_t>[count]());
}

ring_reader::result ring_reader::next(incoming* out) {
  for (;;) {
    const auto index = static_cast<uint32_t>(read_ % count_);
    cell& first = cells_[index];
    if (first.header.stamp.load(std::memory_order_acquire) != stamp_of(read_, count_)) {  // A1
      return result::none;
    }
    // Copied once: the sender could change them between a check and a use.
    out->kind = static_cast<message_kind>(first.header.kind);
    out->imm = first.header.imm;
    out->size = first.header.size;
    out->bytes = first.bytes;
    out->position = read_;
    const uint64_t span = span_of(out->size);
    if (span > count_ - index || span >= done_bit) return result::corrupt;
    spans_[index].store(static_cast<uint16_t>(span), std::memory_order_relaxed);
    read_ += span;
    if (out->kind != message_kind::pad) return result::message;
    free(out->position);
  }
}

void ring_reader::free(uint64_t position) {
  const auto index = static_cast<uint32_t>(position % count_);
  const uint16_t span = spans_[index].load(std::memory_order_relaxed);
  for (uint32_t i = 1; i < span; ++i) {
    cells_[index + i].header.stamp.store(0, std::memory_order_relaxed);
  }
  // M1: this mark, then the look at the lock in advance().
  spans_[index].exchange(span | done_bit, std::memory_order_acq_rel);
  advance();
}

// Gives the freed cells at the front back to the sender. If another thread is at it, that one has
// either seen our mark or will look again, since it checks once more after it has let go of the
// lock.
void ring_reader::advance() {
  for (;;) {
    if (!free_lock_.try_lock()) return;
    uint16_t span;
    while (((span = spans_[freed_ % count_].load(std::memory_order_acquire)) & done_bit) != 0) {
      spans_[freed_ % count_].store(0, std::memory_order_relaxed);
      freed_ += span & ~done_bit;
    }
    // Not each time: the sender looks at it only when it has run out of room, and a quarter of the
    // ring is enough for any message.
    if (freed_ - published_ >= count_ / 4) {
      control_->freed.store(freed_, std::memory_order_release);  // R2
      published_ = freed_;
    }
    const uint64_t front = freed_;
    free_lock_.unlock();
    // M2: on the same word as M1. If it comes later, it sees the mark; if it comes first, the other
    // thread's M1 sees it, and with it that the lock is free.
    if ((spans_[front % count_].fetch_or(0, std::memory_order_acq_rel) & done_bit) == 0) return;
  }
}

}  // namespace lci::net::shm
