// Messages that leave at once, header and bytes together.
//
//   sender                                  receiver
//     short: imm(rcomp, tag), bytes    ->   copies the bytes to a buffer of its own, signals
//     am:    header, bytes             ->   the same
//     tagged (short or with header)    ->   matches with a receive (runtime/matching.h)
//
// They leave in one of three ways (SC'25 paper, section 5.3), which the receiver does not see: see
// protocol in choose.h.
#ifndef LCI_RUNTIME_PROTOCOL_EAGER_H_
#define LCI_RUNTIME_PROTOCOL_EAGER_H_

#include <atomic>
#include <cstddef>

#include "lci/api/types.hpp"
#include "lci/ds/object_pool.h"
#include "lci/net/op.h"
#include "lci/runtime/protocol/backlog.h"
#include "lci/runtime/protocol/operation.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {

class protocol_host;

struct envelope;

// The eager messages of one device.
//
// Thread safety: every member by any thread at any time; none blocks.
class eager {
 public:
  explicit eager(protocol_host& host) : host_(host) {}

  // The three ways. Answers as rt::send (post/send.h); `fatal` if the peer is gone; retry codes
  // only if not may_wait, but retry_nopacket in any case.
  error_t inject(const operation& outgoing, const envelope& with, bool may_wait);
  error_t send_from_packet(const operation& outgoing, const envelope& with, bool copy,
                           bool may_wait);

  // An active message has arrived for a completion object that is not lent it: hands it a copy of
  // the bytes. Throws std::runtime_error, the message being dropped, if there is no memory.
  void on_am(comp_impl_t& comp, int rank, tag_t tag, const void* bytes, size_t size);

  // No packet is under way.
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }
  size_t open() const { return static_cast<size_t>(open_.load(std::memory_order_relaxed)); }

 private:
  // A message in the backlog.
  struct waiting_state final : continuation {
    eager* of = nullptr;
    operation outgoing;
    void completed(protocol_host& host, errorcode_t code) override;
  };
  // A packet in the network.
  struct packet_state final : continuation {
    eager* of = nullptr;
    operation outgoing;
    packet* copy = nullptr;  // the library's packet; null: the program's is sent
    bool signals = false;    // the message's completion is this one
    void completed(protocol_host& host, errorcode_t code) override;
  };

  protocol_host& host_;
  std::atomic<int64_t> open_{0};
  ds::object_pool<waiting_state> waiting_pool_;
  ds::object_pool<packet_state> packet_pool_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_EAGER_H_
