// The state that a device keeps for each other rank.
#ifndef LCI_NET_IBV_PEER_H_
#define LCI_NET_IBV_PEER_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "lci/net/ibv/send_queue.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

enum class peer_state : uint8_t {
  unconnected,
  alive,
  suspected,  // an error was seen; completions that the peer caused earlier are still to be read
  ended,      // the peer has ended its device
  failed,     // reported as failed
};

// Progress of the recovery of the queue pair for puts and gets (qp_recovery.cc).
enum class qp_recovery : uint8_t {
  none,
  draining,    // waiting for the flushed work requests to complete
  requesting,  // the peer is to be asked to reset its end
  requested,   // the peer has been asked
};

struct peer {
  // Written by the polling thread; with the locks of both queues where the change forbids posts.
  std::atomic<peer_state> state{peer_state::unconnected};
  send_queue message_queue;
  send_queue rma_queue;     // puts and gets
  bool rma_broken = false;  // guarded by the lock of rma_queue

  std::atomic<bool> connection_wanted{false};  // a post found the peer unconnected

  // Used by the polling thread only.
  queue_pair_numbers remote_qps = {};
  offer offered = {};
  bool is_pending = false;  // in the device's list of ranks that have work to be done
  bool owes_recovered = false;
  qp_recovery recovery = qp_recovery::none;
  uint32_t rma_first_psn = 0;    // first packet number of the recovered RMA queue pair
  uint32_t flushed = 0;          // entries at the front of rma_queue that came back flushed
  bool has_queue_pairs = false;  // see on_demand_connect.cc
  bool is_connected = false;     // our queue pairs are connected to the peer's
  std::chrono::steady_clock::time_point next_request;
  std::chrono::steady_clock::time_point deadline;
  std::chrono::milliseconds pause{0};
  bool heartbeat_pending = false;
  uint32_t heartbeats = 0;  // answered so far
  int misses = 0;           // heartbeats unanswered since the last answer
  std::chrono::steady_clock::time_point silent_since;  // when the first of these was sent
  bool bye_sent = false;
  bool bye_taken = false;           // the peer's device has acknowledged it
  std::atomic<bool> marked{false};  // a marker is in flight
  uint32_t suspected_at = 0;        // value of rdma_device::emptied_
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_PEER_H_
