#ifndef LCI_NET_IBV_MESSAGE_PATH_H_
#define LCI_NET_IBV_MESSAGE_PATH_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lci/ds/spinlock.h"
#include "lci/ds/stealing_pool.h"
#include "lci/net/backend.h"
#include "lci/net/completion_sink.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/regions.h"
#include "lci/net/ibv/wanted_connections.h"
#include "lci/net/ibv/wire.h"
#include "lci/net/ibv/work_request.h"

namespace lci::net::ibv {

// Sends messages. A message that fits is sent inline from the send queue itself, a longer one from
// a packet. Control messages and markers travel the same way, so they arrive behind all messages
// that were sent before.
//
// Thread safety: posts may be made by any thread; completed() by one thread at a time.
class message_path {
 public:
  // The arguments outlive this object.
  message_path(peer_table& peers, wanted_connections& wanted, const region_table& regions,
               completion_sink& sink);

  // Makes `count` packets from `memory`, which outlives this object. `max_inline`: the bytes that a
  // send queue takes inline. Called before all other members.
  void open(const packet_memory& memory, size_t count, uint32_t max_inline);

  // As device::post, for a send.
  error_t post(const op& operation);
  // As device::post_short, for a send of up to max_inline() bytes.
  error_t post_inline(int rank, net_imm_data_t imm, const void* buffer, size_t size);
  size_t max_inline() const { return max_inline_; }

  // Both return false if there is no room now.
  bool send_control(int rank, const control& sent, work::kind what = work::kind::packet);
  // Sends an empty write, unless one is in flight: neither the peer's program nor its library
  // notices it, but its completion shows that all earlier messages have arrived.
  bool send_marker(int rank);

  // Processes the completion of a request in the send queue of messages to `rank`. `error`
  // describes its status, or is null: it succeeded.
  void completed(int rank, uint32_t position, const char* error) {
    if (__builtin_expect(error != nullptr, 0)) return failed(rank, position, error);
    queue_to(rank).retire(position, [&](work& done) { finish(rank, done, false); });
  }
  // The peer has acknowledged this rank's bye.
  bool is_bye_taken(int rank) const { return marks_[static_cast<size_t>(rank)].bye_taken; }

 private:
  struct marks {
    std::atomic<bool> in_flight{false};  // a marker is
    bool bye_taken = false;
  };
  // Packets mostly return to the thread that took them.
  struct owner_of {
    uint32_t operator()(const packet& element) const { return element.owner; }
  };

  send_queue& queue_to(int rank) { return queues_[rank].messages; }
  // The answer to a post whose queue does not admit it.
  [[gnu::noinline]] error_t refuse(int rank) { return wanted_.refuse(rank, peers_.state(rank)); }
  void failed(int rank, uint32_t position, const char* error);
  void finish(int rank, const work& finished, bool failed);

  peer_table& peers_;
  peer_queues* const queues_;  // of peers_
  wanted_connections& wanted_;
  const region_table& regions_;
  completion_sink& sink_;
  const packet_memory* memory_ = nullptr;
  size_t max_inline_ = 0;
  std::unique_ptr<marks[]> marks_;  // by rank
  ds::stealing_pool<packet, owner_of> packets_{/*return_threshold=*/64};
  std::unique_ptr<packet[]> all_packets_;
};

// (Most messages. Here, so that the device's entry makes no further call.)
[[gnu::always_inline]] inline error_t message_path::post_inline(int rank, net_imm_data_t imm,
                                                                const void* buffer, size_t size) {
  send_queue& queue = queue_to(rank);
  if (!queue.lock().try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (__builtin_expect(queue.is_full(), 0)) return refuse(rank);
  ibv_sge whole = piece(buffer, size, 0);
  ibv_send_wr request = make_request(IBV_WR_SEND_WITH_IMM, &whole, 1);
  request.imm_data = encode_immediate(imm);
  request.send_flags = IBV_SEND_INLINE;
  queue.next().what = work::kind::quiet;
  const int code = queue.post(request, queue.wants_signal());
  return __builtin_expect(code == 0, 1) ? errorcode_t::done : refusal(code);
}

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_MESSAGE_PATH_H_
