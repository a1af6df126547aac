// The two ends of a ring: messages from one rank to another, in order, through shared memory.
//
// Memory orders, numbered here and named in ring.cc:
//   R1 -> A1  stamp of a message's first cell: the sender stores it (release) after all else of the
//   message; the receiver
//             loads it (acquire) before it reads anything else.
//   R2 -> A2  ring_control::freed: the receiver stores it (release) after its last read of the
//   cells, and after it has
//             wiped the stamps; the sender loads it (acquire) before it writes there again.
// Invariants:
//   1. Cells in [freed, written) hold messages that are on their way or being read; all others
//   belong to the sender.
//   2. The word where a stamp would stand is never a valid stamp of the coming lap in a cell that
//      belongs to the sender: a first cell keeps the stamp of an older lap, the others are wiped
//      when they are freed.
//   3. A message is contiguous in memory.
#ifndef LCI_NET_SHM_RING_H_
#define LCI_NET_SHM_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/ds/spinlock.h"
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
// guards.
class alignas(line_size) ring_writer {
 public:
  ring_writer() = default;
  void attach(ring_control* control, cell* cells, uint32_t count) {
    control_ = control;
    cells_ = cells;
    count_ = count;
  }

  // False if there is no room now. The message (header and bytes) must span at most a quarter of
  // the ring.
  bool write(message_kind kind, uint32_t imm, const gather& message);

  // Whether a message of `size` bytes could be written now.
  bool has_room(size_t size);

  // Tells the receiver that nothing will follow, and that this is no failure.
  void close() { control_->closed.store(1, std::memory_order_release); }

  ds::spinlock lock;

 private:
  bool reserve(uint64_t span);

  uint32_t count_ = 0;
  uint64_t written_ = 0;  // position after the last message
  uint64_t freed_ = 0;    // the last known ring_control::freed
  cell* cells_ = nullptr;
  ring_control* control_ = nullptr;
};

// A message in the ring, its fields copied out and checked.
struct incoming {
  message_kind kind;
  uint32_t imm;
  uint32_t size;
  unsigned char* bytes;
  uint64_t position;
};

// Thread safety: next() one thread at a time; free() any thread at any time.
class ring_reader {
 public:
  enum class result { none, message, corrupt };

  void attach(ring_control* control, cell* cells, uint32_t count);

  // The next message, which stays where it is until its position is freed.
  result next(incoming* out);
  // Ends the use of a message. Any order.
  void free(uint64_t position);
  bool sender_closed() const { return control_->closed.load(std::memory_order_acquire) != 0; }

 private:
  static constexpr uint16_t done_bit = uint16_t{1} << 15;

  void advance();

  ring_control* control_ = nullptr;
  cell* cells_ = nullptr;
  uint32_t count_ = 0;
  uint64_t read_ = 0;  // position after the last message handed out

  // spans_[position % count_] is the span of a message that is handed out, with done_bit once it is
  // freed; 0 otherwise.
  std::unique_ptr<std::atomic<uint16_t>[]> spans_;
  ds::spinlock free_lock_;
  uint64_t freed_ = 0;      // guarded by free_lock_
  uint64_t published_ = 0;  // guarded by free_lock_: ring_control::freed
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_H_
