// The state that a device keeps for each other rank. Guarded by the device's lock.
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

// The most puts and gets that one rank may have asked of another, per device.
constexpr uint32_t max_requests = 32;

// A put or get that this rank has asked of the peer.
struct request {
  op_kind kind;
  bool by_reply;  // the bytes of a get come with the reply; else they are written before it
  size_t size;
  void* buffer;
  void* context;
};

// An answer or action that this rank still owes to the peer.
struct deferred_answer {
  record_kind to;  // get, pull and push are still to be executed; for others the answer is known
  bool ok;
  uint32_t imm;
  request_header header;
};

enum class peer_state : uint8_t {
  alive,
  suspected,  // an error was seen; packets that the peer sent earlier are still to be read
  corrupt,    // the peer's packets are malformed and no longer read
  ended,      // the peer has ended its device
  failed,     // reported as failed
};

struct peer {
  peer_state state = peer_state::alive;
  bool is_pending = false;  // in the device's list of ranks that have something to send
  bool greeted = false;     // the first packet has arrived
  bool greeting_sent = false;
  bool bye_sent = false;
  uint16_t token = 0;  // of the peer's device
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::string shared_memory;  // file that provider shm has made in /dev/shm; or empty
  credits credit;
  packet* filling = nullptr;  // coalesces messages; see coalescing.h
  uint32_t in_flight = 0;     // packets whose completion libfabric has yet to report
  bool unconfirmed = false;   // an injected packet, which is never reported, left after those
  bool bursts = false;        // the last coalesced packet held more than one message
  uint32_t left_at = 0;       // value of ofi_device::looks_ when the last packet left
  uint32_t heard = 0;         // value of ofi_device::emptied_ when the last packet arrived
  std::chrono::steady_clock::time_point since;  // when the peer became suspected

  // As requester. Bit i of `free_requests`: requests[i] is free.
  uint32_t free_requests = ~uint32_t{0};
  base::aligned_array<request> requests;
  // As target.
  base::aligned_vector<deferred_answer> deferred;  // in the order of execution
  uint32_t incoming_requests = 0;  // requests of the peer in `deferred` or being executed
};

// A read or write of the provider: of our own post, or on request of the peer.
struct access : operation {
  bool is_local = false;   // of our own post
  bool abandoned = false;  // its completion was delivered when the rank failed
  op_kind kind = op_kind::put;
  bool notifies = false;  // of our own post: a record notifies the target after the completion
  uint32_t imm = 0;
  void* user_context = nullptr;
  deferred_answer asked;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PEER_H_
