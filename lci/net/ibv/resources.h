#ifndef LCI_NET_IBV_RESOURCES_H_
#define LCI_NET_IBV_RESOURCES_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/base/status.h"
#include "lci/net/ibv/hails.h"
#include "lci/net/ibv/lengths.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// Room for a message that arrives, with the request that says so.
struct arrival {
  ibv_recv_wr request = {};
  ibv_sge room = {};
  unsigned char* bytes = nullptr;
  arrival* next = nullptr;  // in lists
};

// The queue pairs for one other rank.
struct connection {
  owned<ibv_qp> messages;  // both ways
  owned<ibv_qp> writes;    // our puts and gets, and nothing from there
  owned<ibv_qp> written;   // the peer's, and nothing from here
  owned<ibv_qp> pulse;     // shows whether the peer's device answers, see failures.cc
  owned<ibv_qp> felt;      // the other end of the peer's pulse
  queue_pair_numbers numbers() const;
};

// How one end of a connection is told of the other.
struct far_end {
  uint32_t number = 0;
  uint32_t first_packet = 0;  // that it sends
  port_address address = {};
  uint32_t concurrent_reads = 0;  // that it serves
};

// How long a queue pair waits for an answer before what is in it fails.
enum class insistence : uint8_t { of_data, of_pulse };

// What a device has of libibverbs. Thread safety: none.
class resources {
 public:
  resources(const verbs& with, const port& through)
      : datagrams(with, through), verbs_(with), port_(through) {}
  // All of it ends, in the right order.
  ~resources();
  resources(const resources&) = delete;
  resources& operator=(const resources&) = delete;

  // Before open(), and before that of `datagrams`: events of the completion queues can be waited
  // for.
  base::Status open_channel();
  // After that. All events that have come are taken, and the next completion makes one.
  base::Status ask_for_events();
  base::Status open(const lengths& chosen, size_t packets, size_t packet_bytes, int ranks,
                    attr_ibv_td_strategy_t domains);
  // Makes the queue pairs for a rank, not yet connected.
  base::Status make_connection(int rank);
  // From reset on to where requests arrive, and to where they leave, too. `our_first_packet`: that
  // we send.
  base::Status connect(ibv_qp& ours, const far_end& theirs, uint32_t our_first_packet,
                       insistence how = insistence::of_data) const;
  // Unlike connect, it only receives.
  base::Status listen(ibv_qp& ours, const far_end& theirs) const;
  base::Status reset(ibv_qp& ours) const;
  // All that is in it comes out, and nothing leaves any more.
  void stop(ibv_qp& ours) const;

  ibv_cq* completions() const { return completions_.get(); }
  ibv_srq* receives() const { return receives_.get(); }
  connection& with(int rank) { return connections_[static_cast<size_t>(rank)]; }
  uint32_t max_inline() const { return max_inline_; }
  // Reads that a queue pair of ours has under way, and serves.
  uint32_t concurrent_reads() const;

  owned<ibv_comp_channel> channel;  // null: nobody waits; ends behind all completion queues
  hails datagrams;                  // where connections are made on first use
  packet_memory outgoing;
  packet_memory incoming;

 private:
  base::StatusOr<owned<ibv_qp>> make_queue_pair(uint32_t depth, uint32_t inlined, bool sends);
  base::Status choose_inline();
  ibv_pd* thread_domain();

  const verbs& verbs_;
  const port& port_;
  lengths lengths_;
  uint32_t max_inline_ = 0;
  attr_ibv_td_strategy_t domains_ = attr_ibv_td_strategy_t::none;
  // Ended from below.
  std::vector<owned<ibv_td>> thread_domains_;
  std::vector<owned<ibv_pd>> parents_;  // protection domains with a thread domain
  owned<ibv_cq> completions_;
  owned<ibv_srq> receives_;
  std::vector<connection> connections_;  // by rank
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_RESOURCES_H_
