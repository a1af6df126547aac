// What a device knows of another rank. Guarded by the device's lock.
#ifndef LCI_NET_OFI_PEER_H_
#define LCI_NET_OFI_PEER_H_

#include <rdma/fabric.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/net/ofi/credits.h"
#include "lci/net/ofi/packets.h"
#include "lci/net/ofi/wire.h"
#include "lci/net/op.h"

namespace lci::net::ofi {

// Puts and gets that one rank may have asked another for, on one device.
constexpr uint32_t max_requests = 32;

// One that we have asked for.
struct request {
  op_kind kind;
  bool by_reply;  // the bytes of a get come with the reply; else they are written before it
  size_t size;
  void* buffer;
  void* context;
};

// Something that the other rank waits for.
struct owed {
  record_kind to;  // get, pull and push are still to be done; for all others the answer is known
  bool ok;
  uint32_t imm;
  request_header header;
};

enum class peer_state : uint8_t {
  alive,
  suspected,  // something is wrong; what it sent before is still to be read
  corrupt,    // what it sends makes no sense, and is not read
  ended,      // it has ended its device
  failed,     // it was reported as failed
};

struct peer {
  peer_state state = peer_state::alive;
  bool waiting = false;  // in the device's list of those that have something to send
  bool greeted = false;  // the first packet is here
  bool greeting_sent = false;
  bool bye_sent = false;
  uint16_t token = 0;  // of its device
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::string shared_memory;  // what the provider shm leaves in /dev/shm if it is killed; or empty
  credits with;
  packet* open = nullptr;    // being filled; see gather.h
  uint32_t in_flight = 0;    // packets that libfabric has, and will say when it has handed them on
  bool unconfirmed = false;  // an injected one, of which it will not say, left after those
  bool bursts = false;       // more than one message was in the last that gathered
  uint32_t left_at = 0;      // ofi_device::looks_ when a packet left last
  uint32_t heard = 0;        // ofi_device::emptied_ when a packet of it came last
  std::chrono::steady_clock::time_point since;  // suspected

  // As the one who asks: bit i of `free_requests`: requests[i] is free.
  uint32_t free_requests = ~uint32_t{0};
  base::aligned_array<request> requests;
  // As the one who is asked.
  base::aligned_vector<owed> owes;  // in the order in which they are dealt with
  uint32_t being_asked = 0;         // of the other's requests: those in `owes`, and those under way
};

// A read or write of libfabric's. Of our own post, or of what we are asked for.
struct access : operation {
  bool ours = false;
  bool given_up = false;  // its completion was given when the rank failed
  op_kind kind = op_kind::put;
  bool tells = false;  // ours: the target is told by a record when it is complete
  uint32_t imm = 0;
  void* user_context = nullptr;
  owed asked;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PEER_H_
