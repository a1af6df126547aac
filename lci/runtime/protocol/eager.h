// Messages that leave by copy: one send, and the sender's buffer is free when the network takes it.
//
//   sender                                  receiver
//     short: imm(rcomp, tag), bytes    ->   copies the bytes to a buffer of its own, signals
//     am:    header, bytes             ->   the same
//     tagged: header, bytes            ->   matches with a receive (runtime/matching.h)
//
// (SC'25 paper, section 5.3: inject.)
#ifndef LCI_RUNTIME_PROTOCOL_EAGER_H_
#define LCI_RUNTIME_PROTOCOL_EAGER_H_

#include <cstddef>

#include "lci/api/types.hpp"
#include "lci/ds/object_pool.h"
#include "lci/net/op.h"
#include "lci/runtime/backlog.h"
#include "lci/runtime/message.h"

namespace lci::rt {

// The eager messages of one device.
//
// Thread safety: every member by any thread at any time; none blocks.
class eager {
 public:
  explicit eager(device_impl_t& device) : device_(device) {}

  // Bytes of header that the message needs: 0 if all fits the immediate data. Header and bytes
  // together may be at most device.max_eager() in the two calls below.
  size_t header_size(const message& outgoing) const;

  // Sends if the network takes it now: done, fatal (the peer is gone) or a retry code.
  error_t send(const message& outgoing);
  // For who can't retry: done or fatal, or posted_backlog; then outgoing.comp will be signalled and
  // the buffer is in use until that.
  error_t send_or_wait(const message& outgoing);

  // An active message has arrived: hands a copy of the bytes to the completion object that rcomp
  // names. Throws std::runtime_error, the message being dropped, if there is no such object or no
  // memory.
  void on_am(int rank, tag_t tag, rcomp_t rcomp, const void* bytes, size_t size);

 private:
  // A message in the backlog.
  struct waiting_state final : continuation {
    message outgoing;
    void completed(device_impl_t& device, errorcode_t code) override;
  };

  bool is_short(const message& outgoing) const;
  template <class Use>
  error_t with_op(const message& outgoing, Use use) const;

  device_impl_t& device_;
  ds::object_pool<waiting_state> waiting_pool_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_EAGER_H_
