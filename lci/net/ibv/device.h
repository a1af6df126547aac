#ifndef LCI_NET_IBV_DEVICE_H_
#define LCI_NET_IBV_DEVICE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/base/wakeup.h"
#include "lci/ds/spinlock.h"
#include "lci/ds/stealing_pool.h"
#include "lci/net/backend.h"
#include "lci/net/fifo.h"
#include "lci/net/ibv/context.h"
#include "lci/net/ibv/peer.h"
#include "lci/net/ibv/queue_depths.h"
#include "lci/net/ibv/resources.h"
#include "lci/net/ibv/send_queue.h"
#include "lci/net/ibv/source_table.h"
#include "lci/net/ibv/wire.h"
#include "lci/net/mpsc_free_list.h"

namespace lci::net::ibv {

// A completion queue, a shared receive queue, and five reliable queue pairs for each rank: one for
// messages, and two each for puts and gets and for heartbeats (struct connection in resources.h).
// After the SC'25 paper, section 5.2.3.
//
// A message that fits is sent inline from the send queue itself, a longer one from a packet; either
// arrives in a packet of the target. Puts and gets are RDMA writes and reads and use a queue pair
// of their own: a wrong access breaks only this one, and messages and the peer's own operations
// continue. The broken queue pair is reset, and the operations posted after the wrong one are
// reposted (qp_recovery.cc).
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
  bool has_left(int rank) override {
    return peer_of(rank).state.load(std::memory_order_acquire) == peer_state::ended;
  }
  std::vector<int> wait_descriptors() const override;
  std::chrono::microseconds arm() override;

  // Called while another device of the context is polled.
  void answer_datagrams();

 private:
  // Marks the identifier of a work request as that of a receive.
  static constexpr uint64_t receive_bit = uint64_t{1} << 63;
  // Marks it as a heartbeat to the rank in the lower bits.
  static constexpr uint64_t heartbeat_bit = uint64_t{1} << 62;

  // The notification of all other ranks, in turn, that `rank` has failed.
  struct failure_notice {
    int rank;
    int next = 0;                                    // the next rank to notify
    int rounds = 0;                                  // complete passes over all ranks
    std::chrono::steady_clock::time_point due = {};  // start of the next round
  };

  // The completions that one poll delivers.
  struct batch {
    completion* out;
    size_t max;
    size_t count = 0;

    bool full() const { return count == max; }
  };

  rdma_device(rdma_context& context, boot::bootstrap& boot, const device_config& config,
              const queue_depths& chosen);

  // Making and ending (device.cc).
  base::Status open();
  base::Status connect(boot::bootstrap& boot);
  base::Status read_offer(int rank, std::string_view bytes);
  base::Status connect_to(int rank);
  base::Status greet(std::chrono::nanoseconds timeout);
  void end();
  bool has_said_goodbye();

  // Posting (posts.cc).
  error_t refuse(peer& to);
  error_t may_send(peer& to);
  error_t post_send(const op& operation);
  error_t post_rma(const op& operation);
  // With the lock of the queue. Returns 0 or an errno value.
  int repost(send_queue& through, const work& what);
  // Returns false if there is no room now.
  bool send_control(int rank, const control& sent, work::kind what);
  bool send_marker(peer& to);

  // Completions (completions.cc).
  void read_completions(batch* results);
  void take(const ibv_wc& entry, batch* results);
  void receive(const ibv_wc& entry, batch* results);
  void take_control(int rank, const arrival& slot, size_t size);
  void sent(const ibv_wc& entry, batch* results);
  void finish(int rank, work& finished, bool failed, batch* results);
  void give(batch* results, const completion& one);
  void give_ready(batch* results);
  void post_receives();
  bool completes_now();

  // Recovery from wrong puts and gets (qp_recovery.cc).
  void rma_failed(int rank, const ibv_wc& entry, batch* results);
  void recover_rma_qp(int rank);
  void reset_rma_target_qp(int rank, uint32_t first_psn);
  void finish_recovery(int rank);
  void process_pending();
  void add_pending(int rank);

  // Connecting on demand (on_demand_connect.cc).
  void want_connection(peer& to);
  void connect_on_demand();
  void advance_connections(bool any_wanted);
  void begin_connecting(int rank);
  bool send_datagram(int to, connect_datagram_kind kind, int about);
  void handle_datagram(const connect_datagram& got);
  void handle_connect(const connect_datagram& got);
  void open_for_posts(int rank);

  // The failure detector where queue pairs are connected on demand (ring_monitor.cc).
  bool connects_at_start(int rank) const;
  int live_neighbor(int rank, int step);
  void close_ring(int lost);
  void send_failure_notices();
  void query_neighbors(int rank);
  void handle_report(const connect_datagram& got);

  // Failures (failures.cc).
  void check_for_failures();
  void send_heartbeat(int rank);
  void handle_heartbeat(int rank, bool answered);
  void suspect(int rank, const std::string& reason);
  void confirm_failures();
  void report_failure(int rank);
  void stop(int rank);
  void handle_bye(int rank);

  remote_qp remote_qp_of(int rank, uint32_t number);
  void set_state(peer& other, peer_state state);

  peer& peer_of(int rank) { return peers_[static_cast<size_t>(rank)]; }
  bool is_self(int rank) const { return rank == context_.rank(); }

  rdma_context& context_;
  const verbs& verbs_;
  const int ranks_;
  const device_config config_;
  const queue_depths depths_;
  std::unique_ptr<resources> own_;
  uint32_t max_inline_ = 0;
  const uint32_t first_psn_;  // the first packet number that each of our queue pairs sends
  const bool on_demand_;      // queue pairs are connected on demand
  const std::chrono::nanoseconds connect_timeout_;  // for a rank that does not answer
  std::atomic<bool> any_connection_wanted_{false};
  base::wakeup sleeper_;  // open: a thread may sleep on the device
  bool connected_ = false;
  ds::spinlock queues_lock_;       // lock of all send queues, where they share one
  std::unique_ptr<peer[]> peers_;  // by rank

  // Packets for sends that are too long to be inline. Packets mostly return to the thread that took
  // them.
  struct owner_of {
    uint32_t operator()(const packet& element) const { return element.owner; }
  };
  ds::stealing_pool<packet, owner_of> packets_{/*return_threshold=*/64};
  std::unique_ptr<packet[]> all_packets_;
  mpsc_free_list<arrival> returned_;

  alignas(64) ds::spinlock lock_;  // guards the completion queue and all members below
  source_table sources_;
  base::aligned_array<arrival> arrivals_;
  arrival* unposted_ = nullptr;        // to be posted as receives; a list linked by `next`
  base::aligned_vector<int> pending_;  // ranks with peer::is_pending
  std::vector<int> connecting_;        // ranks that are sent connection requests
  std::vector<failure_notice> failure_notices_;  // in progress
  bool is_cut_off_ = false;                      // reports of this rank are unreliable
  fifo<completion> ready_;                       // delivered before all others
  bool moved_ = false;                           // this poll made progress
  uint32_t polls_ = 0;
  uint32_t emptied_ = 0;  // reads that left the completion queue empty
  int suspects_ = 0;      // peers in state suspected
  int next_heartbeat_ = 0;
  std::chrono::steady_clock::time_point last_check_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_DEVICE_H_
