#include "lci/net/ibv/message_path.h"

#include <cstring>

#include "lci/base/copy.h"
#include "lci/base/strings.h"
#include "lci/base/thread_number.h"

namespace lci::net::ibv {

message_path::message_path(peer_table& peers, wanted_connections& wanted,
                           const region_table& regions, completion_sink& sink)
    : peers_(peers),
      queues_(peers.all_queues()),
      wanted_(wanted),
      regions_(regions),
      sink_(sink),
      marks_(new marks[static_cast<size_t>(peers.ranks())]) {}

void message_path::open(const packet_memory& memory, size_t count, uint32_t max_inline) {
  memory_ = &memory;
  max_inline_ = max_inline;
  all_packets_.reset(new packet[count]);
  packets_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    all_packets_[i] = {memory.at(i), base::thread_number()};
    packets_.put(&all_packets_[i]);
  }
}

error_t message_path::post(const op& operation) {
  send_queue& queue = queue_to(operation.rank);
  if (!queue.lock().try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (__builtin_expect(queue.is_full(), 0)) return refuse(operation.rank);
  ibv_sge pieces[2] = {piece(operation.header, operation.header_size, 0),
                       piece(operation.buffer, operation.size, 0)};
  const size_t size = operation.header_size + operation.size;
  ibv_send_wr request = make_request(IBV_WR_SEND_WITH_IMM, pieces, 2);
  if (operation.header_size == 0) {
    request.sg_list = &pieces[1];
    request.num_sge = 1;
  }
  request.imm_data = encode_immediate(operation.imm);
  work& entry = queue.next();
  if (size <= max_inline_) {
    request.send_flags = IBV_SEND_INLINE;
    entry.what = work::kind::quiet;
    const int code = queue.post(request, queue.wants_signal());
    return code == 0 ? errorcode_t::done : refusal(code);
  }
  if (!operation.inject) {
    pieces[1].lkey = regions_.local_key(operation.local);
    entry.what = work::kind::user;
    entry.context = operation.context;
    const int code = queue.post(request, /*signaled=*/true);
    return code == 0 ? errorcode_t::posted : refusal(code);
  }
  packet* copy = packets_.get();
  if (copy == nullptr) return errorcode_t::retry_nomem;
  if (operation.header_size > 0) {
    std::memcpy(copy->bytes, operation.header, operation.header_size);
  }
  base::copy_data(copy->bytes + operation.header_size, operation.buffer, operation.size);
  pieces[0] = piece(copy->bytes, size, memory_->key());
  request.sg_list = pieces;
  request.num_sge = 1;
  entry.what = work::kind::packet;
  entry.bytes = copy;
  // Always signaled: a queue without further posts must not withhold packets from other queues.
  const int code = queue.post(request, /*signaled=*/true);
  if (code == 0) return errorcode_t::done;
  packets_.put(copy);
  return refusal(code);
}

bool message_path::send_control(int rank, const control& sent, work::kind what) {
  send_queue& queue = queue_to(rank);
  if (!queue.lock().try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (queue.is_full()) return false;
  ibv_sge whole = piece(&sent, sizeof(sent), 0);
  ibv_send_wr request = make_request(IBV_WR_SEND, &whole, 1);
  work& entry = queue.next();
  entry.what = what;
  entry.bytes = nullptr;
  if (max_inline_ >= sizeof(sent)) {
    request.send_flags = IBV_SEND_INLINE;
  } else {
    entry.bytes = packets_.get();
    if (entry.bytes == nullptr) return false;
    std::memcpy(entry.bytes->bytes, &sent, sizeof(sent));
    whole = piece(entry.bytes->bytes, sizeof(sent), memory_->key());
  }
  packet* const copy = entry.bytes;
  if (queue.post(request, /*signaled=*/true) == 0) return true;
  if (copy != nullptr) packets_.put(copy);
  return false;
}

bool message_path::send_marker(int rank) {
  std::atomic<bool>& in_flight = marks_[static_cast<size_t>(rank)].in_flight;
  if (in_flight.load(std::memory_order_relaxed)) return true;
  send_queue& queue = queue_to(rank);
  if (!queue.lock().try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (queue.is_full()) return false;
  ibv_send_wr request = make_request(IBV_WR_RDMA_WRITE, nullptr, 0);
  queue.next().what = work::kind::marker;
  in_flight.store(true, std::memory_order_relaxed);
  if (queue.post(request, /*signaled=*/true) == 0) return true;
  in_flight.store(false, std::memory_order_relaxed);
  return false;
}

void message_path::failed(int rank, uint32_t position, const char* error) {
  peers_.suspect(rank, base::StrCat("a message did not reach it: ", error));
  queue_to(rank).retire(position, [&](work& done) { finish(rank, done, /*failed=*/true); });
}

void message_path::finish(int rank, const work& finished, bool failed) {
  marks& of_rank = marks_[static_cast<size_t>(rank)];
  switch (finished.what) {
    case work::kind::quiet:
      return;
    case work::kind::marker:
      of_rank.in_flight.store(false, std::memory_order_relaxed);
      return;
    case work::kind::bye:
      if (!failed) of_rank.bye_taken = true;
      [[fallthrough]];
    case work::kind::packet:
      if (finished.bytes != nullptr) packets_.put(finished.bytes);
      return;
    case work::kind::user:
      sink_.give(make_completion(op_kind::send, rank, finished.context, failed));
      return;
  }
}

}  // namespace lci::net::ibv
