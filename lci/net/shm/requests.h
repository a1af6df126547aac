#ifndef LCI_NET_SHM_REQUESTS_H_
#define LCI_NET_SHM_REQUESTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/net/op.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/ring.h"

namespace lci::net::shm {

// Puts and gets between ranks that can't copy each other's memory: each is a request and a reply
// through the rings, and the target copies when it polls. Both sides of the conversation.
//
// A rank has at most max_requests open at each other, so the other one can remember the replies
// that it owes while its ring back is full: it always goes on reading requests, and two ranks whose
// rings are full of requests to each other can't wait for each other for ever.
//
// Thread safety: post() under the lock of the ring that is given; all else, but idle(), by one
// thread at a time, which is the one that polls.
class request_table {
 public:
  // No put or get is larger than `max_bytes`.
  request_table(int ranks, region_table& regions, size_t max_bytes);

  // Whether `op` can be posted now: room for it among the open requests and in the ring.
  error_t post(const op& operation, ring_writer& writer);

  enum class result { nothing, completed, malformed };
  // Deals with a request or reply of `rank`. `back` is the ring to it. `completed`: *out is filled.
  result take(int rank, const incoming& message, ring_writer& back, completion* out);

  // Sends replies that are owed to `rank`, as far as there is room.
  void pay(int rank, ring_writer& back);
  // Whether no replies are owed to anybody.
  bool idle() const { return owed_.load(std::memory_order_relaxed) == 0; }

  // Forgets what is owed to `rank`, and gives up one request that is open there, into *out. False
  // when there is none.
  bool give_up(int rank, completion* out);

 private:
  struct request {
    op_kind kind;
    size_t size;
    void* buffer;
    void* context;
  };
  struct reply {
    message_kind to;
    remote_copy_header header;
  };
  struct conversation {
    // Bit i: requests[i] is free. Cleared by post, set by whoever polls; F1 (release) after the
    // last use of the request, F2 (acquire) before the next.
    std::atomic<uint32_t> free{~uint32_t{0}};
    uint32_t first_owed = 0;  // owed[first_owed], and count_owed in all, cyclic
    uint32_t count_owed = 0;
    request requests[max_requests];
    reply owed[max_requests];
  };
  static_assert(max_requests == 32, "one bit each in `free`");

  result take_request(int rank, const incoming& message, ring_writer& back, completion* out);
  result take_reply(int rank, const incoming& message, completion* out);
  bool send(const reply& owed, ring_writer& back);
  void close(int rank, uint32_t operation, bool failed, completion* out);

  region_table& regions_;
  const size_t max_bytes_;
  const std::unique_ptr<conversation[]> with_;  // by rank
  std::atomic<uint32_t> owed_{0};               // all count_owed together
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_REQUESTS_H_
