// A message as the ends of a ring take and give it.
#ifndef LCI_NET_SHM_MESSAGE_H_
#define LCI_NET_SHM_MESSAGE_H_

#include <cstddef>
#include <cstdint>

#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Bytes that reach the ring in one message, gathered.
struct iovec {
  const void* header = nullptr;
  size_t header_size = 0;
  const void* bytes = nullptr;
  size_t size = 0;
};

// A message in the ring, its fields copied out and checked.
struct incoming {
  ring_message_kind kind = ring_message_kind::pad;
  uint32_t imm = 0;
  uint32_t size = 0;
  unsigned char* bytes = nullptr;
  uint32_t first_cell = 0;
  uint32_t next_put_offset = 0;  // of a next_put_imm
};

// The outcome of a message that a part of the device has taken.
enum class take_result : uint8_t {
  completed,  // the caller's completion is filled
  nothing,    // no completion follows from it
  malformed,  // no correct peer sends it
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_MESSAGE_H_
