#ifndef LCI_NET_IBV_RECEIVE_POOL_H_
#define LCI_NET_IBV_RECEIVE_POOL_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/work_request.h"
#include "lci/net/mpsc_free_list.h"

namespace lci::net::ibv {

// A receive buffer and the request that posts it.
struct arrival {
  ibv_recv_wr request = {};
  ibv_sge room = {};
  unsigned char* bytes = nullptr;
  arrival* next = nullptr;  // in lists
};

// The receive buffers of a device, and the shared receive queue that they are posted to.
// Thread safety: release() may be called by any thread; all other members by one at a time.
class receive_pool {
 public:
  // Posts `count` receives of `bytes` bytes to `queue`. Fails if the queue does not take all of
  // them. `memory` and `queue` outlive this object.
  base::Status open(ibv_srq* queue, const packet_memory& memory, size_t count, size_t bytes);

  // The receive of a completion with this identifier.
  arrival& at(uint64_t wr_id) { return arrivals_[wr_id & ~receive_bit]; }
  // The buffer is no longer used.
  void put_back(arrival& slot) {
    slot.next = unposted_;
    unposted_ = &slot;
  }
  // The same, by any thread.
  void release(arrival& slot) { returned_.put(slot); }
  // Posts all unused receives as one list. Receives that the queue refuses are posted later.
  void post() {
    if (!returned_.empty()) take_returned();
    if (unposted_ != nullptr) post_list();
  }

  // Whether post() has buffers that were released.
  bool has_returned() const { return !returned_.empty(); }
  // Whether post() has other buffers.
  bool has_unposted() const { return unposted_ != nullptr; }

 private:
  void take_returned();
  void post_list();

  ibv_srq* queue_ = nullptr;
  base::aligned_array<arrival> arrivals_;
  arrival* unposted_ = nullptr;  // a list linked by `next`
  mpsc_free_list<arrival> returned_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_RECEIVE_POOL_H_
