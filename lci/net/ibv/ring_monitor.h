#ifndef LCI_NET_IBV_RING_MONITOR_H_
#define LCI_NET_IBV_RING_MONITOR_H_

#include <chrono>
#include <vector>

#include "lci/net/ibv/monitor_ring.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// The part of the connections that a ring monitor uses.
class ring_links {
 public:
  // Sends a datagram. Returns false if there is no room now.
  virtual bool send_datagram(int to, connect_datagram_kind kind, int about) = 0;
  // Begins to connect with `rank`, unless that has begun.
  virtual void begin_connecting(int rank) = 0;
  // `rank` is alive: its deadline to answer a connection request is put off.
  virtual void put_off_deadline(int rank) = 0;
  // Returns whether the queue pairs of `rank` are connected to this rank's, as far as it knows.
  virtual bool is_connected(int rank) const = 0;
  // Ends the connection, if there is one: the peer has ended its device.
  virtual void stop(int rank) = 0;

 protected:
  ~ring_links() = default;
};

// The failure detector for ranks that are not connected, where queue pairs are connected on demand.
//
// All ranks form a ring (monitor_ring.h) whose neighbors are connected from the start: each rank
// sends heartbeats to two neighbors, and two neighbors send it theirs (heartbeats.h). A rank whose
// ring neighbor fails notifies all other ranks by datagrams, several times, since datagrams may be
// lost. It also connects with the next live rank in that direction, so that the ring is closed
// again. A rank whose connection requests get no reply queries the ring neighbors of the silent
// rank. They report that it has failed, has ended its device, or is alive; if it is alive, the
// requester waits for it, however long it does not poll.
//
// Detection needs one of the two neighbors to poll. If a rank fails together with both of its
// neighbors, the next rank in the ring detects its failure when the bootstrap's timeout has passed
// without a reply.
//
// A notified rank has to believe a rank that may be wrong: a rank that was cut off for a while
// takes live ranks for failed. Three rules limit the damage:
//   - Reports only count about a rank that the receiver is not connected with; a connected rank is
//     probed by the receiver's own heartbeats.
//   - Reports of a rank that the receiver has declared failed do not count. While a rank is cut
//     off, its own neighbors report it.
//   - The failed rank itself is notified: by its neighbors, and in answer to anything it sends to a
//     rank that has declared it failed. It then declares that rank failed, so that each of the two
//     has its error and neither waits for the other, and it reports no further failures.
// One case remains: if only the path between two live neighbors is cut, ranks that are connected
// with neither believe the first report that arrives, and two such ranks may believe different
// ones.
//
// Thread safety: none.
class ring_monitor {
 public:
  using clock = std::chrono::steady_clock;

  // The arguments outlive this object.
  ring_monitor(peer_table& peers, const monitor_ring& ring, ring_links& links)
      : peers_(peers), ring_(ring), links_(links) {}

  // Connects the ring around a failed neighbor and starts to notify all ranks, the first of them at
  // once: the program may end when it learns of the failure. A rank that ends its device leaves its
  // neighbors unmonitored from that side: devices end nearly at the same time, and until then the
  // other side monitors them.
  void close_ring(int lost, clock::time_point now);
  // Sends as many notices as are due and there is room for now.
  void send_notices(clock::time_point now);
  // Queries the live ring neighbors of a rank that does not reply. Lost queries need no repetition:
  // each repeated connection request is followed by another query.
  void query_neighbors(int rank);
  // Handles a report or query from a rank that is not declared failed.
  void handle(const connect_datagram& got);
  // Reports of this rank are unreliable from now on: it sends none.
  void set_cut_off();

  // Whether send_notices() has something to do now or later.
  bool has_notices() const { return !notices_.empty(); }
  // Whether each notice was sent to all ranks at least once.
  bool has_notified_all() const;

 private:
  // The notification of all other ranks, in turn, that `rank` has failed.
  struct notice {
    int rank;
    int next = 0;                // the next rank to notify
    int rounds = 0;              // complete passes over all ranks
    clock::time_point due = {};  // start of the next round
  };

  int live_neighbor(int rank, int step) const;

  peer_table& peers_;
  const monitor_ring& ring_;
  ring_links& links_;
  std::vector<notice> notices_;  // in progress
  bool is_cut_off_ = false;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_RING_MONITOR_H_
