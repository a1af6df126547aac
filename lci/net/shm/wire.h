// The memory that ranks share, on one page: the layout of the memory that the shared-memory backend
// maps into several processes, and of the data that they exchange at start.
//
//   directory of a rank (one per context; peers map it read-only)
//     page 0      segment_header
//     then        directory_capacity x region_slot: the memory that peers may put to and get from
//
//   mailbox of a rank (one per device; every peer maps it and writes only its own rings and flags,
//   and sets bits of lanes_in_use)
//     page 0, 1   mailbox_header
//     then        per lane, per sending rank: ring_control (2 lines), cooperative_slots x
//                 cooperative_slot (a line each), ring_cells x cell
//
//   cell, 16 bytes, so that several small messages share a line and move together; a message is one
//   or more consecutive cells, the first of which begins with
//     byte  0     word     0 until the message is there, then, written in one store: immediate
//                          data, ring_message_kind, bytes of the message
//           8     the bytes, running on over the following cells
//   Where a message would run over the end of the ring, a `pad` fills the cells up to the end.
//   A next_put_imm has an offset in its word, too: in the bits between its size and its kind.
//
//   Between ranks that can't copy each other's memory, a put or get is a request and a reply, both
//   messages of the rings. Their bytes:
//     request     remote_copy_header, then for a put the bytes to write
//     reply       remote_copy_header, then for a get that succeeded the bytes read
//   A put that notifies its target and fits into one message is that message alone.
#ifndef LCI_NET_SHM_WIRE_H_
#define LCI_NET_SHM_WIRE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/ds/atomics.h"

namespace lci::net::shm {

constexpr uint64_t layout_version = 0x6c6369736830000e;  // peers compare it at start

constexpr size_t page_size = 4096;
constexpr size_t cache_line_size = 64;

// Rings.

enum class ring_message_kind : uint32_t {  // less than 16
  pad = 1,                                 // no message; `size` is what fills its cells
  send = 2,                                // a send of the runtime
  put_done = 3,                            // the bytes of a put_imm are in place; `imm` says which
  put_request = 4,       // write these bytes, a piece of a put; after the last piece, reply
  put_imm_request = 5,   // the last piece of a put that notifies its target, with `imm`
  get_request = 6,       // reply with these bytes, in pieces
  reply = 7,             // answers one of the three
  cooperative_put = 8,   // help to copy (cooperative_copy.h)
  cooperative_done = 9,  // no more help is needed
  inline_put_imm = 10,   // write these bytes, and notify the program with `imm`; no answer
  next_put_imm = 11,     // the same, near the last inline_put_imm of the ring; see below
};

// The first word of a message, which is written and read at once: its immediate data above, then
// its kind, then its size in bytes. Never 0.
constexpr int imm_shift = 32;
constexpr int kind_shift = 28;
constexpr uint32_t max_message_size = (uint32_t{1} << kind_shift) - 1;

// Two bits of that size, which no message needs: the receiver times how long it takes to read the
// lines of this message, and which stores have written them (basic_ring_control::read_costs). With
// one of them a message looks too large, so that the receiver checks for them only then.
constexpr uint32_t is_timed = uint32_t{1} << 27;
constexpr uint32_t is_timed_past_caches = uint32_t{1} << 26;

// Its lower half: those of one kind are ordered by size.
constexpr uint32_t low_word(ring_message_kind kind, uint32_t size) {
  return static_cast<uint32_t>(kind) << kind_shift | size;
}
constexpr uint64_t make_word(ring_message_kind kind, uint32_t size, uint32_t imm) {
  return static_cast<uint64_t>(imm) << imm_shift | low_word(kind, size);
}
constexpr uint32_t imm_in(uint64_t word) { return static_cast<uint32_t>(word >> imm_shift); }
constexpr ring_message_kind kind_in(uint64_t word) {
  return static_cast<ring_message_kind>(static_cast<uint32_t>(word) >> kind_shift);
}
// The word of a next_put_imm: above its size, the offset from the place of the last inline_put_imm of
// its ring, in the same region. So a put of 8 bytes takes one cell, as an active message does.
constexpr int next_put_size_bits = 6;
constexpr uint32_t max_next_put_size = (uint32_t{1} << next_put_size_bits) - 1;
constexpr uint64_t next_put_reach = uint64_t{1} << (kind_shift - next_put_size_bits);
constexpr uint32_t next_put_offset_in(uint64_t word) {
  return (static_cast<uint32_t>(word) & max_message_size) >> next_put_size_bits;
}
constexpr uint32_t size_in(uint64_t word) {
  const bool has_offset = kind_in(word) == ring_message_kind::next_put_imm;
  return static_cast<uint32_t>(word) & (has_offset ? max_next_put_size : max_message_size);
}

template <class Atomics>
struct basic_cell {
  typename Atomics::template atomic<uint64_t> word;
  unsigned char bytes[8];
};
using cell = basic_cell<ds::std_atomics>;
constexpr size_t cell_size = 16;
constexpr size_t word_size = sizeof(uint64_t);
static_assert(sizeof(cell) == cell_size && offsetof(cell, bytes) == word_size);
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);

// Cells that a message of `size` bytes takes.
constexpr uint64_t span_of(uint64_t size) { return (word_size + size + cell_size - 1) / cell_size; }

// Lines that the two sides of a ring write; each has one writer.
template <class Atomics>
struct basic_ring_control {
  // receiver: cells below are free again
  alignas(cache_line_size) typename Atomics::template atomic<uint64_t> freed;
  // receiver: picoseconds that it takes to read a byte which the sender has written with these
  // stores (base::store_kind); 0 if not known
  typename Atomics::template atomic<uint32_t> read_costs[2];
  // sender: 1 when it ended its device properly
  alignas(cache_line_size) typename Atomics::template atomic<uint32_t> closed;
};
using ring_control = basic_ring_control<ds::std_atomics>;
static_assert(sizeof(ring_control) == 2 * cache_line_size);

struct remote_copy_header {
  uint32_t operation;  // the requester's number for it; a reply repeats it
  uint32_t flag;       // put: see below; reply: 1, or 0 if the memory was not open
  uint64_t base;       // request: as in remote_region
  uint64_t key;
  uint64_t offset;  // put: of the piece
  uint64_t size;    // bytes to copy; put: of the piece; reply to a get: that are not here yet,
                    // this piece among them
};
static_assert(sizeof(remote_copy_header) == 40);

// Flag of a piece of a put.
constexpr uint32_t last_piece = 1;

// The bytes of a inline_put_imm, before those to write. So few that with 8 bytes to write and the
// word they fill half a line.
struct inline_put_imm_header {
  uint64_t key;    // as in remote_region
  uint64_t place;  // base as in remote_region below, the offset above
};
static_assert(sizeof(inline_put_imm_header) == 16);
constexpr int inline_put_imm_offset_shift = 16;

// Requests that one rank may have open at another, on one device. The other one keeps room to
// remember so many replies.
constexpr uint32_t max_requests = 32;

// A put that both ranks copy; see cooperative_copy.h.
constexpr uint32_t cooperative_slots = 16;  // that may be under way in one direction
struct alignas(cache_line_size) cooperative_slot {
  std::atomic<uint64_t> taken;  // pieces: by the requester below, by the target above
  std::atomic<uint32_t> end;    // 0 until the target has no more to do with it; see below
};
constexpr uint32_t cooperative_copied = 1;
constexpr uint32_t cooperative_failed = 2;  // not all that the target has taken

struct cooperative_header {  // the bytes of a cooperative_put and of its cooperative_done
  uint32_t number;           // of its slot
  uint32_t flag;             // 1: the target's program is notified
  uint64_t base;             // as in remote_region
  uint64_t key;
  uint64_t offset;
  uint64_t size;
  uint64_t source;  // address, in the requester's process
};
static_assert(sizeof(cooperative_header) == 48);

// Segments.

struct segment_header {
  uint64_t version;
  uint64_t token;  // random; the peer has it from the bootstrap
};

constexpr uint32_t max_lanes = 64;  // of a mailbox

// It changes while the owner polls the lane, so that the line comes from the owner's processor
// (distance.h).
struct alignas(cache_line_size) lane_pulse {
  std::atomic<uint32_t> polls;
};

// Of a mailbox.
struct mailbox_header {
  segment_header segment;
  // Bit i: a rank has used lane i. Changes seldom, and is read by polls.
  alignas(cache_line_size) std::atomic<uint64_t> lanes_in_use;
  lane_pulse pulses[max_lanes];
};
constexpr size_t mailbox_header_bytes = 2 * page_size;
static_assert(sizeof(mailbox_header) <= mailbox_header_bytes);

// One registration. Its owner writes key last when it opens it and first when it closes it.
struct region_slot {
  std::atomic<uint64_t> key;  // 0: closed. Never given twice by a rank, and begins at random
  std::atomic<uint64_t> base;
  std::atomic<uint64_t> size;
  std::atomic<uint64_t> backing;  // 0, or the block of the heap that begins at `base`
};
static_assert(sizeof(region_slot) == 32);

// A block of a rank's heap: its number, plus one, and its pages. The number is that of the file
// descriptor of the segment that the block has for itself, behind the first page; in a heap with a
// reserve, the blocks are counted.
constexpr int backing_number_bits = 24;
constexpr int32_t max_backing_number = (int32_t{1} << backing_number_bits) - 1;
constexpr uint64_t max_backing_pages = uint64_t{1} << (63 - backing_number_bits);

constexpr uint64_t make_backing(int32_t number, uint64_t pages) {
  return pages << backing_number_bits | (static_cast<uint64_t>(number) + 1);
}
constexpr int32_t number_of(uint64_t backing) {
  return static_cast<int32_t>(backing & max_backing_number) - 1;
}
constexpr uint64_t pages_of(uint64_t backing) { return backing >> backing_number_bits; }

constexpr size_t directory_capacity = size_t{1} << 16;
static_assert(directory_capacity == size_t{1} << inline_put_imm_offset_shift);
constexpr uint64_t max_region_size = uint64_t{1} << (64 - inline_put_imm_offset_shift);
constexpr size_t directory_bytes = page_size + directory_capacity * sizeof(region_slot);

// Introductions.

// How to find a segment of another process.
struct segment_name {
  int32_t descriptor;  // in that process
  int32_t zero;
  uint64_t token;
};

// Told to the other ranks when a context is made.
struct introduction {
  uint64_t version;
  uint64_t host;        // host_number()
  uint64_t processes;   // process_numbering(), of the next two
  int64_t pid;          // as getpid() says
  int64_t proc_pid;     // as /proc says: another number in some containers
  uint64_t start_time;  // of the process, as /proc says
  uint64_t image;       // as boot::process_id has it
  uint64_t probe;       // address, in that process, of 8 bytes that hold directory.token
  uint64_t heap;        // address, in that process, of its segment_heap
  segment_name directory;
};
static_assert(sizeof(introduction) == 88);

// Told when a context is made and ranks are hidden from each other.
struct reserve_offer {
  uint64_t address;  // of its first byte, in the process of its owner
  uint64_t bytes;
  segment_name segment;
};

// Told when a device is made.
struct mailbox_offer {
  segment_name mailbox;
  uint64_t ring_cells;
  uint64_t shared;  // for ranks of that same process: the address of its std::shared_ptr<segment>
  uint32_t lanes;   // that the mailbox has room for
  uint32_t wanted_lanes;     // 0: as many as the processors suggest
  uint64_t processors;       // that the rank may use: a hash of which,
  uint64_t processor_count;  // and their number
};
static_assert(sizeof(mailbox_offer) == 56);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_WIRE_H_
