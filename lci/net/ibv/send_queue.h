#ifndef LCI_NET_IBV_SEND_QUEUE_H_
#define LCI_NET_IBV_SEND_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/base/cache_aligned.h"
#include "lci/ds/spinlock.h"
#include "lci/net/op.h"

namespace lci::net::ibv {

// Bytes to send that did not fit into the send queue itself.
struct packet {
  unsigned char* bytes = nullptr;
  uint32_t owner = 0;  // number of the thread that made it, see ds::stealing_pool
};

// What one work request of a send queue is for.
struct work {
  enum class kind : uint8_t {
    quiet,   // nobody waits for it
    packet,  // `bytes` comes back
    user,    // a completion is due
    marker,  // it only shows that all before it is over, and that the peer is there
    bye,
  };
  kind what = kind::quiet;
  op_kind operation = op_kind::send;  // user
  uint32_t imm = 0;                   // this and below: to post it anew, see queue_pair_numbers
  uint32_t local_key = 0;
  uint32_t remote_key = 0;
  uint32_t size = 0;
  void* buffer = nullptr;
  uint64_t remote_address = 0;
  void* context = nullptr;
  packet* bytes = nullptr;
};

// The send queue of a queue pair: what is in it, in order. Completions are asked for now and then,
// since one says that all before it is over, too.
//
// Thread safety: one thread at a time adds (the lock says who), and one at a time retires (who has
// the completion queue).
//
// Invariants
//   1. [tail, head) are under way; there are never more than `depth`.
//   2. Of any depth / 4 in a row one is signalled, so a full queue empties.
// Orders: R1, the release of head_ after an entry is written, pairs with A1 of who retires it; R2,
// the release of tail_ after it was read, with A2 of who writes the next one there.
class send_queue {
 public:
  // It has one lock with others, not one of its own. Before anything else.
  void share(ds::spinlock& lock) { lock_ = &lock; }
  // With the lock, if others may have it.
  void open(ibv_qp* qp, uint32_t index, uint32_t depth) {
    qp_ = qp;
    index_ = index;
    depth_ = depth;
    entries_ = base::make_aligned_array<work>(depth);
  }

  ds::spinlock& lock() { return *lock_; }
  ibv_qp* qp() const { return qp_; }

  // ---- with the lock
  bool is_full() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) ==
           depth_;  // A2
  }
  // Where the next one is described, before it is posted.
  work& next() { return entries_[head_.load(std::memory_order_relaxed) % depth_]; }
  // Whether that has to be signalled, if nobody waits for it.
  bool wants_signal() const { return unsignalled_ + 1 >= (depth_ + 3) / 4; }
  // Posts it as next() describes it. 0 or errno; then nothing happened.
  int post(ibv_send_wr& request, bool signalled) {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    request.wr_id = uint64_t{index_} << 32 | head;
    request.next = nullptr;
    if (signalled) request.send_flags |= IBV_SEND_SIGNALED;
    head_.store(head + 1, std::memory_order_release);  // R1
    ibv_send_wr* refused = nullptr;
    const int bad = ibv_post_send(qp_, &request, &refused);
    if (__builtin_expect(bad != 0, 0)) {
      head_.store(head, std::memory_order_relaxed);
      return bad;
    }
    unsignalled_ = signalled ? 0 : unsignalled_ + 1;
    return 0;
  }
  // What is under way will not tell when it is over.
  bool is_silent() const { return unsignalled_ > 0; }
  // Nothing of it is signalled any more: the queue pair is new, and its entries are posted again.
  void begin_again() {
    head_.store(tail_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    unsignalled_ = 0;
  }

  // ---- any thread
  uint32_t under_way() const {
    const uint32_t tail =
        tail_.load(std::memory_order_acquire);  // first: it does not pass the head
    return head_.load(std::memory_order_acquire) - tail;
  }
  bool is_empty() const { return under_way() == 0; }

  // ---- who has the completion queue
  // Calls f(work&) for all up to the one with that position, and retires them.
  template <class F>
  void retire(uint32_t position, const F& f) {
    uint32_t tail = tail_.load(std::memory_order_relaxed);
    // Not for what makes no sense.
    if (position - tail >= head_.load(std::memory_order_acquire) - tail) return;  // A1
    for (;; ++tail) {
      f(entries_[tail % depth_]);
      if (tail == position) break;
    }
    tail_.store(tail + 1, std::memory_order_release);  // R2
  }
  uint32_t tail() const { return tail_.load(std::memory_order_relaxed); }
  // The i-th of those under way.
  const work& at(uint32_t i) const { return entries_[(tail() + i) % depth_]; }

 private:
  ibv_qp* qp_ = nullptr;
  ds::spinlock* lock_ = &own_lock_;
  base::aligned_array<work> entries_;
  uint32_t index_ = 0;
  uint32_t depth_ = 0;
  uint32_t unsignalled_ = 0;  // at the end of the queue
  std::atomic<uint32_t> head_{0};
  ds::spinlock own_lock_;
  alignas(64) std::atomic<uint32_t> tail_{0};
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_SEND_QUEUE_H_
