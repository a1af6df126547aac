#ifndef LCI_NET_IBV_CONNECTIONS_H_
#define LCI_NET_IBV_CONNECTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/completion_sink.h"
#include "lci/net/ibv/heartbeats.h"
#include "lci/net/ibv/monitor_ring.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/resources.h"
#include "lci/net/ibv/ring_monitor.h"
#include "lci/net/ibv/rma_path.h"
#include "lci/net/ibv/source_table.h"
#include "lci/net/ibv/wanted_connections.h"
#include "lci/net/ibv/wire.h"
#include "lci/net/pending_ranks.h"

namespace lci::net::ibv {

// The ways from this rank's port to the ports of all ranks.
struct routes {
  const std::vector<port_address>& addresses;   // by rank
  const std::vector<ibv_ah*>& address_handles;  // by rank; for datagrams
  const monitor_ring& ring;
};

// Connects the queue pairs of a device with those of its peers: those of all ranks at start, or
// those of the ring neighbors at start and others on demand.
//
// On demand, a rank that wants to post to a peer sends it connection requests until the peer
// replies. A rank that receives a request replies, and sends requests of its own until it has a
// reply. So each side knows that the other's queue pairs are connected before it posts, whichever
// datagrams are lost, and even if both sides begin concurrently.
//
// Thread safety: none.
class connections final : public heartbeat_links, public ring_links, public rma_links {
 public:
  using clock = std::chrono::steady_clock;

  // All arguments outlive this object.
  connections(peer_table& peers, resources& own, wanted_connections& wanted, completion_sink& sink,
              const routes& ways, bool on_demand, clock::duration patience);

  // At start.
  // Makes what is connected at start. Returns the offer to the other ranks. `depth`: of each send
  // queue.
  base::StatusOr<std::string> make_offer(uint64_t packet_bytes, uint32_t depth);
  // Connects with what `rank` has offered.
  base::Status accept_offer(int rank, std::string_view bytes);

  // On demand. `patience` is how long a rank may leave requests without an answer.
  // Connects the peers that posts want, and repeats requests. Calls `silent` for each rank that has
  // not answered the previous request.
  void advance(const std::function<void(int rank)>& silent);
  // Handles a request or a reply.
  void handle(const connect_datagram& got);
  // Whether requests are to be repeated.
  bool is_connecting() const { return !connecting_.empty(); }

  // Of one peer.
  // The rank whose requests arrive at a queue pair of this rank; -1 if there is none.
  int source_of(uint32_t queue_pair) const { return sources_.find(queue_pair); }
  bool is_connected(int rank) const override { return record_of(rank).is_connected; }
  void stop(int rank) override;
  void begin_connecting(int rank) override;
  void put_off_deadline(int rank) override { record_of(rank).deadline = clock::now() + patience_; }
  bool send_datagram(int to, connect_datagram_kind kind, int about) override;
  bool post_heartbeat(int rank) override;
  base::Status reset_heartbeat_qp(int rank, uint32_t answered) override;
  base::Status reset_rma_qp(int rank, uint32_t first_psn) override;
  base::Status reset_rma_target_qp(int rank, uint32_t first_psn) override;

 private:
  struct record {
    queue_pair_numbers remote_qps = {};
    offer offered = {};
    bool has_queue_pairs = false;
    bool is_connected = false;  // our queue pairs are connected to the peer's
    clock::time_point next_request;
    clock::time_point deadline;
    std::chrono::milliseconds pause{0};
  };

  bool connects_at_start(int rank) const;
  base::Status read_offer(int rank, std::string_view bytes);
  base::Status connect(int rank);
  remote_qp remote_of(int rank, uint32_t number) const;
  record& record_of(int rank) { return records_[static_cast<size_t>(rank)]; }
  const record& record_of(int rank) const { return records_[static_cast<size_t>(rank)]; }

  peer_table& peers_;
  resources& own_;
  wanted_connections& wanted_;
  completion_sink& sink_;
  const routes ways_;
  const bool on_demand_;
  const clock::duration patience_;
  const uint32_t first_psn_;  // the first packet number that each of our queue pairs sends
  uint64_t packet_bytes_ = 0;
  uint32_t depth_ = 0;
  source_table sources_;
  std::vector<record> records_;  // by rank
  pending_ranks connecting_;     // ranks that are sent connection requests
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_CONNECTIONS_H_
