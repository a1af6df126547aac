#ifndef LCI_NET_IBV_HAILS_H_
#define LCI_NET_IBV_HAILS_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// Hails (wire.h) to and from ranks that there is no connection with: unreliable datagrams, of one
// queue pair for all. Any of them may be lost. Thread safety: none.
class hails {
 public:
  hails(const verbs& with, const port& through) : verbs_(with), port_(through) {}
  hails(const hails&) = delete;
  hails& operator=(const hails&) = delete;

  // Takes hails with `key`, and room for as many as `ranks` send at a time, within reason. Events
  // of its completion queue go to `channel`, which may be null.
  base::Status open(uint32_t key, int ranks, ibv_comp_channel* channel);
  uint32_t number() const { return queue_pair_->qp_num; }
  // Null before open().
  ibv_cq* completions() const { return completions_.get(); }

  // To the queue pair of that number and key, by a way that outlives this. False: not now.
  bool send(ibv_ah* way, uint32_t number, uint32_t key, const hail& sent);

  // Calls f(hail) for each that has come. False if none has.
  template <class F>
  bool receive(const F& f) {
    bool any = false;
    hail got;
    for (; next(&got); any = true) f(got);
    return any;
  }

 private:
  bool next(hail* got);
  void post_receive(size_t index);

  const verbs& verbs_;
  const port& port_;
  uint32_t receives_ = 0;
  packet_memory memory_;  // of receives, and behind them of sends
  std::vector<size_t> free_sends_;
  owned<ibv_cq> completions_;
  owned<ibv_qp> queue_pair_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_HAILS_H_
