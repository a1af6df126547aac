#ifndef LCI_NET_IBV_RESOURCES_H_
#define LCI_NET_IBV_RESOURCES_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/base/status.h"
#include "lci/net/ibv/connect_datagrams.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/queue_depths.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// The queue pairs for one other rank.
struct connection {
  owned<ibv_qp> message_qp;           // messages in both directions
  owned<ibv_qp> rma_qp;               // our puts and gets only
  owned<ibv_qp> rma_target_qp;        // the peer's puts and gets only
  owned<ibv_qp> heartbeat_qp;         // tests whether the peer's device answers; see heartbeats.h
  owned<ibv_qp> heartbeat_target_qp;  // answers the peer's heartbeats
  queue_pair_numbers numbers() const;
};

// The remote end of a connection, as needed to connect the local end.
struct remote_qp {
  uint32_t number = 0;
  uint32_t first_psn = 0;  // the first packet number that it sends
  port_address address = {};
  uint32_t concurrent_reads = 0;  // reads that it serves concurrently
};

// Selects how long a queue pair waits for an answer before its requests fail.
enum class qp_timeout : uint8_t { data, heartbeat };

// The libibverbs objects of a device. Thread safety: none.
class resources {
 public:
  resources(const verbs& library, const port& local)
      : datagrams(library, local), verbs_(library), port_(local) {}
  // Destroys all objects in the order that libibverbs requires.
  ~resources();
  resources(const resources&) = delete;
  resources& operator=(const resources&) = delete;

  // Makes it possible to wait for events of the completion queues. Called before open() and before
  // datagrams.open().
  base::Status open_channel();
  // Consumes the events that have arrived and requests one for the next completion. Needs
  // open_channel().
  base::Status request_events();
  base::Status open(const queue_depths& chosen, size_t packets, size_t packet_bytes, int ranks,
                    attr_ibv_td_strategy_t domains);
  // Makes the queue pairs for a rank; they are not connected yet.
  base::Status make_connection(int rank);
  // Moves a reset queue pair to the state in which it receives and sends. `local_first_psn` is the
  // first packet number that it sends.
  base::Status connect(ibv_qp& local, const remote_qp& remote, uint32_t local_first_psn,
                       qp_timeout timeout = qp_timeout::data) const;
  // Moves a reset queue pair to the state in which it only receives.
  base::Status listen(ibv_qp& local, const remote_qp& remote) const;
  base::Status reset(ibv_qp& local) const;
  // Moves a queue pair to the error state: all requests in it complete, and it sends nothing more.
  void stop(ibv_qp& local) const;

  ibv_cq* completions() const { return completions_.get(); }
  ibv_srq* receives() const { return receives_.get(); }
  connection& connection_of(int rank) { return connections_[static_cast<size_t>(rank)]; }
  uint32_t max_inline() const { return max_inline_; }
  // Reads that one of our queue pairs issues and serves concurrently.
  uint32_t concurrent_reads() const;

  owned<ibv_comp_channel> channel;  // null: nothing waits; outlives all completion queues
  connect_datagrams datagrams;      // open where ranks connect on demand
  packet_memory outgoing;
  packet_memory incoming;

 private:
  base::StatusOr<owned<ibv_qp>> make_queue_pair(uint32_t depth, uint32_t inlined, bool sends);
  // Moves a new or reset queue pair to the state INIT. Returns 0 or an errno value.
  int initialize(ibv_qp& local) const;
  base::Status choose_inline();
  ibv_pd* thread_domain();

  const verbs& verbs_;
  const port& port_;
  queue_depths depths_;
  uint32_t max_inline_ = 0;
  attr_ibv_td_strategy_t domains_ = attr_ibv_td_strategy_t::none;
  // Destroyed from the last to the first.
  std::vector<owned<ibv_td>> thread_domains_;
  std::vector<owned<ibv_pd>> parents_;  // protection domains with a thread domain
  owned<ibv_cq> completions_;
  owned<ibv_srq> receives_;
  std::vector<connection> connections_;  // by rank
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_RESOURCES_H_
