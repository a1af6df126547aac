#ifndef LCI_NET_SHM_REQUESTS_H_
#define LCI_NET_SHM_REQUESTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/net/op.h"
#include "lci/net/shm/large_puts.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/ring.h"

namespace lci::net::shm {

// Puts and gets that go through the rings, because ranks can't copy each other's memory, or because
// two that copy at the same time are faster than one: each is a request, in pieces, and a reply,
// and the target copies when it polls. Both sides of the conversation. Large ones are streams: both
// sides copy pieces into and out of the ring as far as there is room, whenever they post or poll.
//
// A rank has at most max_requests open at each other, so the other one can remember the replies
// that it owes while its ring back is full: it always continues to read requests, and two ranks
// whose rings are full of requests to each other can't wait for each other for ever.
//
// Thread safety: post() and go_on() under the lock of the ring that is given; all else, but idle(),
// by one thread at a time, which is the one that polls; give_up() is both.
class request_table {
 public:
  // A message has at most `piece` bytes of a put or get. `timed` outlives the table; it is notified
  // of the end of each posted put with a `begin`.
  request_table(int ranks, region_table& regions, size_t piece, large_puts& timed);

  // Posted; or retry_nomem if there is no room for it among the open requests, or none in the ring
  // for its first piece. `begin`: when it began, if `timed` is to know its end; else 0.
  error_t post(const op& operation, ring_writer& writer, int64_t begin = 0);
  // Writes more of the puts to `rank` that are not all in the ring.
  void write_more(int rank, ring_writer& writer);

  // Takes a request or reply of `rank`. `back` is the ring to it.
  take_result take(int rank, const incoming& message, ring_writer& back, completion* out);

  // Sends replies that are owed to `rank`, as far as there is room.
  void send_owed(int rank, ring_writer& back);
  // Whether no replies are owed to anybody, and all puts are in their rings.
  bool idle() const {
    return owed_.load(std::memory_order_relaxed) == 0 &&
           unwritten_.load(std::memory_order_relaxed) == 0;
  }

  // Forgets what is owed to `rank`, and gives up one request that is open there, into *out. False
  // when there is none.
  bool give_up(int rank, completion* out);

 private:
  struct request {
    op_kind kind;
    net_imm_data_t imm;
    size_t size;
    // Put: bytes that are in the ring; written under its lock. Get: bytes that have come.
    std::atomic<size_t> moved;
    unsigned char* buffer;
    void* context;
    remote_region remote;
    uint64_t offset;
    int64_t begin;
  };
  struct reply {
    ring_message_kind to;
    remote_copy_header header;
  };
  struct conversation {
    // Bit i: requests[i] is free. Cleared by post, set by the polling thread; F1 (release) after
    // the last use of the request, F2 (acquire) before the next. F3: the thread that takes a reply
    // sees the request.
    std::atomic<uint32_t> free{~uint32_t{0}};
    request requests[max_requests];
    // Puts that are not all in the ring, oldest first: unwritten[first_unwritten], and
    // count_unwritten in all, cyclic. Under the ring's lock.
    uint32_t first_unwritten = 0;
    uint32_t count_unwritten = 0;
    uint32_t unwritten[max_requests];

    uint32_t first_owed = 0;  // owed[first_owed], and count_owed in all, cyclic
    uint32_t count_owed = 0;
    reply owed[max_requests];
    uint32_t refused = 0;  // bit i: a piece of the peer's put i was not for open memory
  };
  static_assert(max_requests == 32, "one bit each in `free`");

  bool write_piece(request& of, uint32_t number, ring_writer& writer);
  take_result take_put(int rank, const incoming& message, ring_writer& back, completion* out);
  take_result take_get(int rank, const incoming& message, ring_writer& back);
  void queue_reply(int rank, const reply& answer, ring_writer& back);
  take_result take_reply(int rank, const incoming& message, completion* out);
  bool send(reply& owed, ring_writer& back);
  void close(int rank, uint32_t operation, bool failed, completion* out);

  region_table& regions_;
  const size_t piece_;
  large_puts& timed_;
  const std::unique_ptr<conversation[]> with_;  // by rank
  std::atomic<uint32_t> owed_{0};               // all count_owed together
  std::atomic<uint32_t> unwritten_{0};          // all count_unwritten together
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_REQUESTS_H_
