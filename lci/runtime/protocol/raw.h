// The part of a device for programs that use its network by itself (api/net.hpp).
#ifndef LCI_RUNTIME_PROTOCOL_RAW_H_
#define LCI_RUNTIME_PROTOCOL_RAW_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "lci/api/types.hpp"
#include "lci/ds/object_pool.h"
#include "lci/ds/spinlock.h"
#include "lci/net/backend.h"
#include "lci/net/op.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {

// Thread safety: every member by any thread at any time; none blocks.
class raw_network {
 public:
  struct receive {
    void* buffer;
    size_t size;
    void* user_context;
  };

  explicit raw_network(net::device& device) : device_(device) {}

  void post_receive(const receive& posted);
  // done or a retry code; `fatal`: the peer is gone, or its memory not open.
  // With `copy`, the operation's bytes are copied to that packet, which goes back to its pool, and
  // its end is not reported; else it is, by poll.
  error_t post(net::op operation, packet* copy);
  size_t poll(net_status_t* out, size_t max);
  // Whether poll() has been called.
  bool is_polled() {
    const std::lock_guard<ds::spinlock> guard(lock_);
    return is_polled_;
  }
  // All operations are complete, and poll has seen it.
  bool idle() const { return open_.load(std::memory_order_relaxed) == 0; }

 private:
  struct operation {
    void* user_context;
    packet* copy;
  };
  // Returns whether the completion is to be reported to the program.
  bool describe(const net::completion& completion, net_status_t* out);
  void end(operation* state);
  void receive_message(const net::completion& completion, net_status_t* out);

  net::device& device_;
  ds::object_pool<operation> operations_;
  std::atomic<int64_t> open_{0};
  ds::spinlock lock_;
  bool is_polled_ = false;             // guarded by lock_
  std::deque<receive> receives_;       // guarded by lock_
  std::deque<net_status_t> finished_;  // guarded by lock_: what was complete at once
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_RAW_H_
