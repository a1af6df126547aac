#ifndef LCI_NET_IBV_SEND_QUEUE_H_
#define LCI_NET_IBV_SEND_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "lci/base/cache_aligned.h"
#include "lci/ds/spinlock.h"
#include "lci/net/op.h"

namespace lci::net::ibv {

// A buffer for bytes to send that do not fit into the send queue itself.
struct packet {
  unsigned char* bytes = nullptr;
  uint32_t owner = 0;  // number of the thread that made it, see ds::stealing_pool
};

// The purpose of one work request in a send queue.
struct work {
  enum class kind : uint8_t {
    quiet,   // nothing happens when it completes
    packet,  // `bytes` returns to its pool
    user,    // a completion is delivered
    marker,  // its completion shows that all earlier requests are complete and the peer answers
    bye,
  };
  kind what = kind::quiet;
  op_kind operation = op_kind::send;  // user
  uint32_t imm = 0;                   // this and below: to repost it, see rma_path.h
  uint32_t local_key = 0;
  uint32_t remote_key = 0;
  uint32_t size = 0;
  void* buffer = nullptr;
  uint64_t remote_address = 0;
  void* context = nullptr;
  packet* bytes = nullptr;
};

// The work requests in the send queue of a queue pair, in order. Few requests are signaled, since
// the completion of one shows that all earlier ones are complete, too.
//
// Thread safety: one thread at a time adds (the holder of the lock), and one at a time retires (the
// holder of the completion queue's lock).
//
// Invariants
//   1. [tail, head) are in flight; there are never more than `depth`.
//   2. Of any depth / 4 consecutive requests one is signaled, so a full queue empties.
//   3. A queue that is not admitted looks full, so that a post checks one condition.
// Orders: R1, the release of head_ after an entry is written, pairs with A1 of the thread that
// retires the entry; R2, the release of tail_ after the entry was read, pairs with A2 of the thread
// that writes the next entry in its place.
class send_queue {
 public:
  // Uses `lock`, shared with other queues, instead of a lock of its own. Called before any other
  // member.
  void share(ds::spinlock& lock) { lock_ = &lock; }
  // With the lock, if other threads may use it.
  void open(ibv_qp* qp, uint32_t index, uint32_t depth) {
    qp_ = qp;
    index_ = index;
    depth_ = depth;
    entries_ = base::make_aligned_array<work>(depth);
  }

  ds::spinlock& lock() { return *lock_; }

  // Begins or ends the admission of posts; the queue begins without. Takes the lock, so every post
  // that starts after this call sees it.
  void admit(bool posts) {
    const std::lock_guard<ds::spinlock> guard(lock());
    admitted_ = posts ? depth_ : 0;
  }

  // With the lock.
  // Whether no post can be made now.
  bool is_full() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) >=
           admitted_;  // A2
  }
  // The entry that describes the next request; filled in before post().
  work& next() { return entries_[head_.load(std::memory_order_relaxed) % depth_]; }
  // Whether the next request has to be signaled for invariant 2.
  bool wants_signal() const { return unsignaled_ + 1 >= (depth_ + 3) / 4; }
  // Posts `request`, which next() describes. Returns 0, or an errno value; then nothing happened.
  int post(ibv_send_wr& request, bool signaled) {
    const uint32_t head = head_.load(std::memory_order_relaxed);
    request.wr_id = uint64_t{index_} << 32 | head;
    request.next = nullptr;
    if (signaled) request.send_flags |= IBV_SEND_SIGNALED;
    head_.store(head + 1, std::memory_order_release);  // R1
    ibv_send_wr* refused = nullptr;
    const int code = ibv_post_send(qp_, &request, &refused);
    if (__builtin_expect(code != 0, 0)) {
      head_.store(head, std::memory_order_relaxed);
      return code;
    }
    unsignaled_ = signaled ? 0 : unsignaled_ + 1;
    return 0;
  }
  // Moves the head back to the tail: the queue pair was reset, and the entries are reposted.
  void rewind() {
    head_.store(tail_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    unsignaled_ = 0;
  }

  // By any thread.
  uint32_t under_way() const {
    // The tail is read first: it never passes the head.
    const uint32_t tail = tail_.load(std::memory_order_acquire);
    return head_.load(std::memory_order_acquire) - tail;
  }
  bool is_empty() const { return under_way() == 0; }

  // By the holder of the completion queue's lock.
  // Calls f(work&) for each entry up to and including `position`, and retires them.
  template <class F>
  void retire(uint32_t position, const F& f) {
    uint32_t tail = tail_.load(std::memory_order_relaxed);
    // Ignore a position that is not in flight.
    if (position - tail >= head_.load(std::memory_order_acquire) - tail) return;  // A1
    for (;; ++tail) {
      f(entries_[tail % depth_]);
      if (tail == position) break;
    }
    tail_.store(tail + 1, std::memory_order_release);  // R2
  }
  uint32_t tail() const { return tail_.load(std::memory_order_relaxed); }

 private:
  ibv_qp* qp_ = nullptr;
  ds::spinlock* lock_ = &own_lock_;
  base::aligned_array<work> entries_;
  uint32_t index_ = 0;
  uint32_t depth_ = 0;
  uint32_t admitted_ = 0;    // requests that may be in flight: depth_ or 0
  uint32_t unsignaled_ = 0;  // consecutive, at the end of the queue
  std::atomic<uint32_t> head_{0};
  ds::spinlock own_lock_;
  alignas(64) std::atomic<uint32_t> tail_{0};
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_SEND_QUEUE_H_
