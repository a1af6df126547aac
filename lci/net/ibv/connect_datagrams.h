#ifndef LCI_NET_IBV_CONNECT_DATAGRAMS_H_
#define LCI_NET_IBV_CONNECT_DATAGRAMS_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// Sends and receives connect datagrams (wire.h) to and from ranks that this device has no
// connection with. One queue pair for unreliable datagrams serves all ranks; any datagram may be
// lost. Thread safety: none.
class connect_datagrams {
 public:
  connect_datagrams(const verbs& library, const port& local) : verbs_(library), port_(local) {}
  connect_datagrams(const connect_datagrams&) = delete;
  connect_datagrams& operator=(const connect_datagrams&) = delete;

  // Accepts datagrams with `key`, and posts receives for as many as `ranks` ranks send at a time,
  // within limits. Events of the completion queue go to `channel`, which may be null.
  base::Status open(uint32_t key, int ranks, ibv_comp_channel* channel);
  uint32_t number() const { return queue_pair_->qp_num; }
  // Null before open().
  ibv_cq* completions() const { return completions_.get(); }

  // Sends `sent` to the queue pair `number` with `key`. `address` outlives this object. Returns
  // false if there is no room now.
  bool send(ibv_ah* address, uint32_t number, uint32_t key, const connect_datagram& sent);

  // Calls f(datagram) for each datagram that has arrived. Returns false if none has.
  template <class F>
  bool receive(const F& f) {
    bool any = false;
    connect_datagram got;
    for (; next(&got); any = true) f(got);
    return any;
  }

 private:
  bool next(connect_datagram* got);
  void post_receive(size_t index);

  const verbs& verbs_;
  const port& port_;
  uint32_t receives_ = 0;
  packet_memory memory_;  // slots of the receives, followed by those of the sends
  std::vector<size_t> free_sends_;
  owned<ibv_cq> completions_;
  owned<ibv_qp> queue_pair_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_CONNECT_DATAGRAMS_H_
