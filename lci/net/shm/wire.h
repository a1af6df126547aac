// What ranks share, on one page: the layout of the memory that the shared-memory backend maps into
// several processes, and of what they tell each other at start.
//
//   directory of a rank (one per context; peers map it read-only)
//     page 0      directory_header
//     then        directory_capacity x region_slot: the memory that peers may put to and get from
//
//   mailbox of a rank (one per device; every peer maps it and writes only its own ring and flag)
//     page 0      mailbox_header
//     then        per sending rank: ring_control (2 lines), ring_cells x cell
//
//   cell, 64 bytes; a message is one or more consecutive cells, the first of which begins with
//     byte  0     stamp    0, or (lap | 2^31), where lap = position / ring_cells: written last
//           4     size     bytes of the message
//           8     imm      immediate data
//          12     kind     message_kind
//          16     the bytes, running on over the following cells
//   Where a message would run over the end of the ring, a `pad` fills the cells up to the end.
#ifndef LCI_NET_SHM_WIRE_H_
#define LCI_NET_SHM_WIRE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lci::net::shm {

constexpr uint64_t layout_version = 0x6c63697368300001;  // peers compare it at start

constexpr size_t page_size = 4096;
constexpr size_t line_size = 64;

enum class message_kind : uint32_t {
  pad = 1,      // no message; `size` is what fills its cells
  send = 2,     // a send of the runtime
  put_imm = 3,  // the bytes of a put are in place; `imm` says which
};

struct cell_header {
  std::atomic<uint32_t> stamp;
  uint32_t size;
  uint32_t imm;
  uint32_t kind;
};
static_assert(sizeof(cell_header) == 16);

struct alignas(line_size) cell {
  cell_header header;
  unsigned char bytes[line_size - sizeof(cell_header)];
};
static_assert(sizeof(cell) == line_size);

constexpr uint32_t stamp_bit = uint32_t{1} << 31;
constexpr uint32_t stamp_of(uint64_t position, uint32_t cells) {
  return static_cast<uint32_t>(position / cells) | stamp_bit;
}
// Cells that a message of `size` bytes takes.
constexpr uint64_t span_of(uint64_t size) {
  return (sizeof(cell_header) + size + line_size - 1) / line_size;
}

// Lines that the two sides of a ring write; each has one writer.
struct ring_control {
  alignas(line_size) std::atomic<uint64_t> freed;   // receiver: cells below are free again
  alignas(line_size) std::atomic<uint32_t> closed;  // sender: 1 when it ended its device properly
};
static_assert(sizeof(ring_control) == 2 * line_size);

struct mailbox_header {
  uint64_t version;
  uint32_t ranks;
  uint32_t ring_cells;
};

// One registration. Its owner writes key last when it opens it and first when it closes it.
struct region_slot {
  std::atomic<uint64_t> key;  // 0: closed
  std::atomic<uint64_t> base;
  std::atomic<uint64_t> size;
  uint64_t unused;
};
static_assert(sizeof(region_slot) == 32);

constexpr size_t directory_capacity = size_t{1} << 16;
constexpr size_t directory_bytes = page_size + directory_capacity * sizeof(region_slot);

struct directory_header {
  uint64_t version;
};

// Told to the other ranks when a context is made.
struct introduction {
  uint64_t version;
  uint64_t host;  // hash of the kernel's boot id and the process-number namespace
  int32_t pid;
  int32_t directory;  // file descriptor of the directory in process `pid`
  uint64_t probe;     // address, in process `pid`, of 8 bytes that hold layout_version
};
// Told when a device is made.
struct mailbox_offer {
  int32_t mailbox;  // file descriptor in the process of the introduction
  uint32_t ring_cells;
  uint64_t shared;  // for ranks of that same process: the address of its std::shared_ptr<segment>
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_WIRE_H_
