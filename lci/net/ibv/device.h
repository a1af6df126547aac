#ifndef LCI_NET_IBV_DEVICE_H_
#define LCI_NET_IBV_DEVICE_H_

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/base/status.h"
#include "lci/ds/spinlock.h"
#include "lci/net/backend.h"
#include "lci/net/completion_sink.h"
#include "lci/net/ibv/connections.h"
#include "lci/net/ibv/context.h"
#include "lci/net/ibv/heartbeats.h"
#include "lci/net/ibv/message_path.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/queue_depths.h"
#include "lci/net/ibv/receive_pool.h"
#include "lci/net/ibv/resources.h"
#include "lci/net/ibv/ring_monitor.h"
#include "lci/net/ibv/rma_path.h"
#include "lci/net/ibv/wanted_connections.h"

namespace lci::net::ibv {

// A completion queue, a shared receive queue, and five reliable queue pairs for each rank: one for
// messages, and two each for puts and gets and for heartbeats (struct connection in resources.h).
// After the SC'25 paper, section 5.2.3.
//
// The device is composed of parts, which know each other only by the references that they are
// constructed with:
//
//   peer_table            states of the peers, and the send queues to them
//   completion_sink       takes completions for the caller of poll
//   wanted_connections    peers that posts have found unconnected
//   receive_pool          buffers for messages that arrive
//   message_path          sends messages
//   rma_path              posts puts and gets, and recovers from wrong ones
//   connections           connects the queue pairs, at start or on demand
//   heartbeats            detects failures of connected ranks
//   ring_monitor          detects failures of other ranks
//
// The device itself reads the completion queue, gives each completion to the part that it is for,
// and makes the parts advance.
//
// Thread safety: that of net::device. The device has a try-lock wherever the provider has a lock:
// one for each send queue, or one for all of them (ibv_td_strategy), and one for the completion
// queue together with the shared receive queue. A poll takes a send queue's lock only after an
// error, and a post takes no other lock.
class rdma_device final : public device {
 public:
  static base::StatusOr<std::unique_ptr<device>> make(rdma_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~rdma_device() override;

  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  bool has_left(int rank) override { return peers_.state(rank) == peer_state::left; }
  std::vector<int> wait_descriptors() const override;
  std::chrono::microseconds arm() override;

  // Called while another device of the context is polled.
  void answer_datagrams();

 private:
  rdma_device(rdma_context& context, boot::bootstrap& boot, const device_config& config,
              const queue_depths& chosen);

  // Making and ending (device.cc).
  base::Status open();
  base::Status connect(boot::bootstrap& boot);
  base::Status greet(std::chrono::nanoseconds timeout);
  void end();
  bool has_said_goodbye();

  // Completions (polling.cc).
  void read_completions();
  void take(const ibv_wc& entry);
  void receive(const ibv_wc& entry);
  void receive_failed(int rank, const ibv_wc& entry);
  void take_control(int rank, const arrival& slot, size_t size);
  void sent(const ibv_wc& entry);
  bool completes_now();

  // Connections and failures (polling.cc).
  void connect_on_demand();
  void advance_connections();
  bool receive_datagrams();
  void handle_datagram(const connect_datagram& got);
  void check_for_failures();
  void confirm_failures();
  void handle_bye(int rank);

  rdma_context& context_;
  const verbs& verbs_;
  const device_config config_;
  const queue_depths depths_;
  const bool on_demand_;  // queue pairs are connected on demand
  bool connected_ = false;

  // Before the parts that use them. Null after a fork, in the child.
  std::unique_ptr<resources> own_;
  peer_table peers_;
  wanted_connections wanted_;
  connections connections_;  // guarded by lock_
  message_path messages_;
  rma_path rma_;

  alignas(64) ds::spinlock lock_;  // guards the completion queue and all members below
  completion_sink sink_;
  receive_pool receives_;
  uint32_t polls_ = 0;
  heartbeats heartbeats_;
  ring_monitor monitor_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_DEVICE_H_
