// The two ends of a ring: messages from one rank to another, in order, through shared memory.
//
// Memory orders, numbered here and named below and in ring.cc:
//   R1 -> A1  word of a message's first cell: the sender stores it (release) after all else of the
//             message; the receiver loads it (acquire) before it reads anything else.
//   R2 -> A2  ring_control::freed: the receiver stores it (release) after its last read of the
//             cells; the sender loads it (acquire) before it writes there again.
//   R3 -> A3  spans_[]: the thread that frees a message stores its span (release) after its last
//             read; reclaim() loads it (acquire) before it hands the cells on by R2.
//   R4 -> A4  ring_control::closed: the sender stores it (release) after its last message.
// Invariants:
//   1. Cells in [freed, written) hold messages that are on their way or being read; all others
//      belong to the sender. The receiver writes to none: lines move only one way.
//   2. Before a message is published, the word behind it, where the next one's stamp will stand, is
//      not that stamp: it is one of an older lap, or the sender has wiped it, since old bytes could
//      look like one. (The receiver looks at no other cell.)
//   3. A message is contiguous in memory, and spans at most a quarter of the ring.
//   4. spans_[i] is non-zero exactly for the messages in [freed_, read_) that begin in cell i and
//      are freed.
#ifndef LCI_NET_SHM_RING_H_
#define LCI_NET_SHM_RING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "lci/base/copy.h"
#include "lci/ds/biased_lock.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Bytes that reach the ring in one message, gathered.
struct gather {
  const void* header = nullptr;
  size_t header_size = 0;
  const void* bytes = nullptr;
  size_t size = 0;
};

// Thread safety: none; the caller holds `lock`, which is here so that it shares a line with what it
// guards. close() may be called once nobody writes any more.
class alignas(line_size) ring_writer {
 public:
  void attach(ring_control* control, cell* cells, uint32_t shift);

  // False if there is no room now; then nothing happened.
  bool write(message_kind kind, uint32_t imm, const gather& message);

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
    cell& only = cells_[position & mask];
    written_ = position + 1;
    if (message.header_size > 0) base::copy_short(only.bytes, message.header, message.header_size);
    base::copy_short(only.bytes + message.header_size, message.bytes, message.size);
    publish(&only.header, stamp, kind, imm, message.header_size + message.size);
    return true;
  }
  static bool fits_a_cell(const gather& message) {
    return message.header_size + message.size <= sizeof(cell::bytes);
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
  bool make_room(uint64_t span);
  bool reserve(uint64_t span) {
    return __builtin_expect(written_ + span - freed_ <= mask_ + 1, 1) || refresh(span);
  }
  bool refresh(uint64_t span);
  // Invariant 2 for a message of `span` cells at written_, for which there is room. False if that
  // needs more room.
  bool ends_well(uint64_t span) {
    const uint64_t end = (written_ + span) & mask_;
    return __builtin_expect((inside_[end / 64] >> (end % 64) & 1) == 0, 1) || wipe(span);
  }
  bool wipe(uint64_t span);
  void note_inside(uint64_t span);
  void pad(uint64_t span);
  // Makes a message whose bytes are in place the receiver's.
  static void publish(cell_header* header, uint32_t stamp, message_kind kind, uint32_t imm,
                      size_t size) {
    header->imm = imm;
    header->word.store(make_word(stamp, kind, static_cast<uint32_t>(size)),
                       std::memory_order_release);  // R1
  }

  uint64_t mask_ = 0;     // cells of the ring - 1
  uint64_t written_ = 0;  // position after the last message
  uint64_t freed_ = 0;    // the last known ring_control::freed
  cell* cells_ = nullptr;
  ring_control* control_ = nullptr;
  // A bit a cell: set if it was inside a message, not its first. Then its first word may be
  // anything (if it was first, that is an old stamp). The cell at written_ never has it.
  std::unique_ptr<uint64_t[]> inside_;
  uint32_t shift_ = 0;

 public:
  ds::biased_lock lock;  // here, so that what an owner of it uses is in one line with the above
};
static_assert(sizeof(ring_writer) == 2 * line_size);

// A message in the ring, its fields copied out and checked.
struct incoming {
  message_kind kind = message_kind::pad;
  uint32_t imm = 0;
  uint32_t size = 0;
  unsigned char* bytes = nullptr;
  uint64_t position = 0;
};

// Thread safety: free() by any thread at any time, once per message, wait-free. All else one thread
// at a time.
class alignas(line_size) ring_reader {
 public:
  enum class result { none, message, corrupt };

  // No message is larger than `max_size` bytes.
  void attach(ring_control* control, cell* cells, uint32_t shift, size_t max_size);

  // The next message, which stays where it is until its position is freed. After a malformed one
  // (`corrupt`) the ring is read no more.
  [[gnu::always_inline]] result next(incoming* out) {
    for (;;) {
      const uint64_t index = read_ & mask_;
      cell& first = cells_[index];
      // Each field is copied once: the sender could change it between a check and a use.
      const uint64_t word = first.header.word.load(std::memory_order_acquire);  // A1
      if (stamp_in(word) != stamp_of(read_, shift_)) return result::none;
      const uint64_t span = span_of(size_in(word));
      if (__builtin_expect(kind_in(word) == message_kind::pad, 0)) {
        if (!skip_pad(span)) return result::corrupt;
        continue;
      }
      if (size_in(word) > max_size_ || span > mask_ + 1 - index) return result::corrupt;
      out->kind = kind_in(word);
      out->imm = static_cast<const volatile cell_header*>(&first.header)->imm;
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
    return control_->closed.load(std::memory_order_acquire) != 0;
  }  // A4

 private:
  bool skip_pad(uint64_t span);
  void reclaim_front();

  // Constant, so that threads that free don't wait for the one that reads.
  cell* cells_ = nullptr;
  // spans_[position & mask_] is the span of a message that is freed, until it is reclaimed; else 0.
  // Not in the ring, where the sender could change it.
  std::unique_ptr<std::atomic<uint32_t>[]> spans_;
  ring_control* control_ = nullptr;
  uint64_t mask_ = 0;  // cells of the ring - 1
  uint32_t shift_ = 0;
  uint32_t max_span_ = 0;
  uint32_t max_size_ = 0;

  alignas(line_size) uint64_t read_ = 0;  // position after the last message handed out
  uint64_t freed_ = 0;                    // cells below are free
  uint64_t published_ = 0;                // ring_control::freed
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_H_
