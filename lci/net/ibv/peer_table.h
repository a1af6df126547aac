#ifndef LCI_NET_IBV_PEER_TABLE_H_
#define LCI_NET_IBV_PEER_TABLE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/ds/spinlock.h"
#include "lci/net/ibv/send_queue.h"
#include "lci/net/peer_health.h"

namespace lci::net::ibv {

// The send queues to one peer.
struct peer_queues {
  send_queue messages;
  send_queue rma;  // puts and gets
};

// The peers of one device: their states, and the two send queues to each, which admit posts while
// it is alive. A peer begins unconnected.
//
// A failure is settled when the completion queue was read to its end after the suspicion: the queue
// is in order, so everything that the peer sent before it failed, including a bye, was processed.
//
// Thread safety: that of peer_health; the queues have locks.
class peer_table {
 public:
  // `self`: this rank. `one_lock`: all send queues share a lock.
  peer_table(int self, int ranks, bool one_lock);

  int self() const { return self_; }
  int ranks() const { return ranks_; }
  bool is_self(int rank) const { return rank == self_; }
  peer_state state(int rank) const { return health_.state(rank); }
  bool is_alive(int rank) const { return health_.is_alive(rank); }
  send_queue& messages(int rank) { return queues_[static_cast<size_t>(rank)].messages; }
  send_queue& rma(int rank) { return queues_[static_cast<size_t>(rank)].rma; }

  // By rank; for posts, which keep the address.
  peer_queues* all_queues() { return queues_.get(); }

  // By the polling thread.
  // The peer's queue pairs are connected, too: opens the queues for posts, unless the peer is not
  // unconnected.
  void open(int rank);
  // See peer_health. Close the queues.
  void suspect(int rank, std::string_view reason);
  void corrupt(int rank, std::string_view reason);
  void bye(int rank);

  // This rank has notified the peer that it ends its device.
  bool has_said_bye(int rank) const { return said_bye_[static_cast<size_t>(rank)]; }
  void set_said_bye(int rank, bool said) { said_bye_[static_cast<size_t>(rank)] = said; }

  // A read has left the completion queue empty.
  void note_empty_read() { ++empty_reads_; }
  bool has_suspects() const { return health_.has_suspects(); }
  // See peer_health::confirm.
  template <class Report>
  void confirm_failures(const Report& report) {
    health_.confirm(
        [this](const suspicion& one) {
          return empty_reads_ != suspected_at_[static_cast<size_t>(one.rank)];
        },
        report);
  }
  // See peer_health::check_due.
  peer_health::clock::duration check_due(peer_health::clock::time_point now) {
    return health_.check_due(now);
  }

 private:
  void close(int rank);

  const int self_;
  const int ranks_;
  std::unique_ptr<peer_queues[]> queues_;  // by rank
  peer_health health_;
  ds::spinlock queues_lock_;            // lock of all send queues, where they share one
  std::vector<uint32_t> suspected_at_;  // by rank: empty_reads_ at the suspicion
  std::vector<bool> said_bye_;          // by rank
  // By polls; on a line of its own, since posts read the members above.
  alignas(base::cache_line_size) uint32_t empty_reads_ = 0;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_PEER_TABLE_H_
