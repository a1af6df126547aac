#ifndef LCI_NET_IBV_RMA_PATH_H_
#define LCI_NET_IBV_RMA_PATH_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/backend.h"
#include "lci/net/completion_sink.h"
#include "lci/net/ibv/message_path.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/regions.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wanted_connections.h"
#include "lci/net/ibv/wire.h"
#include "lci/net/pending_ranks.h"

namespace lci::net::ibv {

// The part of the connections that an rma_path uses.
class rma_links {
 public:
  // Resets and connects the RMA queue pair to `rank`, which then begins with packet `first_psn`.
  virtual base::Status reset_rma_qp(int rank, uint32_t first_psn) = 0;
  // Resets the target end of the peer's RMA queue pair, which begins with packet `first_psn`.
  virtual base::Status reset_rma_target_qp(int rank, uint32_t first_psn) = 0;

 protected:
  ~rma_links() = default;
};

// Puts and gets: RDMA writes and reads over a queue pair of their own, and its recovery.
//
// A wrong access breaks the RMA queue pair that issued it and the target end at the peer; messages
// and the peer's own operations continue. Requests posted after it were flushed, not executed, and
// are reposted when both ends are reset. Only these requests ever use the two queue pairs, so
// nothing is lost or executed twice. The conversation:
//
//   the rank whose access was wrong         its peer
//   queue closed; flushed requests drain
//   recover (first packet number)      ->   resets the target end
//   resets its end, reposts            <-   recovered
//
// Thread safety: posts may be made by any thread; all other members are called by one at a time.
class rma_path {
 public:
  // The arguments outlive this object.
  rma_path(peer_table& peers, wanted_connections& wanted, const region_table& regions,
           completion_sink& sink, message_path& messages, rma_links& links);

  // `max_inline`: the bytes that a send queue takes inline. Called before all other members.
  void open(uint32_t max_inline) { max_inline_ = max_inline; }

  // As device::post, for a put, put_imm or get.
  error_t post(const op& operation);

  // Processes the completion of a request in the RMA queue to `rank`. `error` describes its status,
  // or is null: it succeeded.
  void completed(int rank, uint32_t position, ibv_wc_status status, const char* error) {
    if (__builtin_expect(error != nullptr, 0)) return failed(rank, position, status, error);
    queue_to(rank).retire(position, [&](work& done) { finish(rank, done, false); });
  }

  // Control messages of the peer.
  void handle_recover(int rank, uint32_t first_psn);
  void handle_recovered(int rank);

  // Whether advance() has something to do.
  bool has_pending() const { return !pending_.empty(); }
  // Advances the recoveries as far as possible now.
  void advance();

  // Whether the peer waits for nothing, and no operation to it is in flight. A queue pair in
  // recovery that holds no requests delays no operation. Waiting for it could take forever: the
  // peer may have stopped polling.
  bool is_idle(int rank) { return !recovery_of(rank).owes_recovered && queue_to(rank).is_empty(); }
  // Ends the operations that wait for a recovery, and the recovery: the peer is gone.
  void stop(int rank);

 private:
  enum class step : uint8_t {
    none,
    draining,    // waiting for the flushed work requests to complete
    requesting,  // the peer is to be asked to reset its end
    requested,   // the peer has been asked
  };
  struct recovery {
    step now = step::none;
    bool owes_recovered = false;  // the peer is to be notified that the target end is reset
    uint32_t first_psn = 0;       // first packet number of the recovered queue pair
    uint32_t flushed = 0;         // entries at the front of the queue that came back flushed
  };

  send_queue& queue_to(int rank) { return queues_[rank].rma; }
  // The answer to a post whose queue does not admit it.
  [[gnu::noinline]] error_t refuse(int rank) { return wanted_.refuse(rank, peers_.state(rank)); }
  void failed(int rank, uint32_t position, ibv_wc_status status, const char* error);
  void finish(int rank, const work& finished, bool failed);
  // With the lock of the queue. Returns 0 or an errno value.
  int issue(send_queue& through, const work& what);
  base::Status reset_and_repost(int rank);
  bool advance(int rank);
  void add_pending(int rank) {
    if (!pending_.contains(rank)) pending_.add(rank);
  }
  recovery& recovery_of(int rank) { return recoveries_[static_cast<size_t>(rank)]; }

  peer_table& peers_;
  peer_queues* const queues_;  // of peers_
  wanted_connections& wanted_;
  const region_table& regions_;
  completion_sink& sink_;
  message_path& messages_;  // sends control messages
  rma_links& links_;
  size_t max_inline_ = 0;
  std::vector<recovery> recoveries_;  // by rank
  pending_ranks pending_;             // what advance() has to do
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_RMA_PATH_H_
