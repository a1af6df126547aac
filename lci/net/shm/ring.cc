#include "lci/net/shm/ring.h"

#include <algorithm>

namespace lci::net::shm {

// ---- sender -------------------------------------------------------------------------------------

void ring_writer::attach(ring_control* control, cell* cells, uint32_t shift) {
  control_ = control;
  cells_ = cells;
  shift_ = shift;
  mask_ = (uint64_t{1} << shift) - 1;
  inside_ = std::make_unique<uint64_t[]>(mask_ / 64 + 1);
}

bool ring_writer::write(message_kind kind, uint32_t imm, const gather& message) {
  const size_t size = message.header_size + message.size;
  const uint64_t span = span_of(size);
  if (!make_room(span) || !ends_well(span)) return false;
  if (span > 1) note_inside(span);
  cell& first = cells_[written_ & mask_];
  unsigned char* to = first.bytes;
  if (message.header_size > 0) {
    base::copy_bytes(to, message.header, message.header_size);
    to += message.header_size;
  }
  base::copy_bytes(to, message.bytes, message.size);
  publish(&first.header, stamp_of(written_, shift_), kind, imm, size);
  written_ += span;
  return true;
}

bool ring_writer::refresh(uint64_t span) {
  const uint64_t freed = control_->freed.load(std::memory_order_acquire);  // A2
  // The value is a peer's: one that cannot be makes no room.
  if (freed > written_ || freed < freed_) return false;
  freed_ = freed;
  return written_ + span - freed_ <= mask_ + 1;
}

bool ring_writer::wipe(uint64_t span) {
  if (!reserve(span + 1)) return false;
  const uint64_t end = (written_ + span) & mask_;
  cells_[end].header.word.store(0, std::memory_order_relaxed);
  inside_[end / 64] &= ~(uint64_t{1} << (end % 64));
  return true;
}

// Before the message of `span` cells at written_ is written.
void ring_writer::note_inside(uint64_t span) {
  uint64_t index = (written_ & mask_) + 1;
  for (uint64_t left = span - 1; left > 0;) {
    const uint64_t bit = index % 64;
    const uint64_t count = std::min(left, 64 - bit);
    inside_[index / 64] |= (~uint64_t{0} >> (64 - count)) << bit;
    index += count;
    left -= count;
  }
}

bool ring_writer::make_room(uint64_t span) {
  const uint64_t to_end = mask_ + 1 - (written_ & mask_);
  if (span <= to_end) return reserve(span);
  if (!reserve(to_end + span) || !ends_well(to_end)) return false;
  pad(to_end);
  return true;
}

void ring_writer::pad(uint64_t span) {
  publish(&cells_[written_ & mask_].header, stamp_of(written_, shift_), message_kind::pad, 0,
          span * line_size - sizeof(cell_header));
  written_ += span;
}

// ---- receiver -----------------------------------------------------------------------------------

void ring_reader::attach(ring_control* control, cell* cells, uint32_t shift, size_t max_size) {
  control_ = control;
  cells_ = cells;
  shift_ = shift;
  mask_ = (uint64_t{1} << shift) - 1;
  max_size_ = static_cast<uint32_t>(max_size);
  max_span_ = static_cast<uint32_t>(span_of(max_size));
  spans_.reset(new std::atomic<uint32_t>[mask_ + 1]());
}

// It fills the end, and was needed only because a message did not fit there. False if it can't be
// one. (A pad at the front of the ring can't: there are never two in a row.)
bool ring_reader::skip_pad(uint64_t span) {
  const uint64_t index = read_ & mask_;
  if (span != mask_ + 1 - index || span >= max_span_) return false;
  spans_[index].store(static_cast<uint32_t>(span), std::memory_order_relaxed);
  read_ += span;
  return true;
}

void ring_reader::reclaim_front() {
  while (freed_ != read_) {
    std::atomic<uint32_t>& slot = spans_[freed_ & mask_];
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

}  // namespace lci::net::shm
