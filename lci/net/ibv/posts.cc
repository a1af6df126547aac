// Posts: messages, puts and gets, control messages and markers.
#include <cerrno>
#include <cstring>
#include <mutex>

#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

ibv_send_wr make_request(ibv_wr_opcode opcode, ibv_sge* pieces, int count) {
  ibv_send_wr request = {};
  request.opcode = opcode;
  request.sg_list = pieces;
  request.num_sge = count;
  return request;
}

ibv_sge piece(const void* bytes, size_t size, uint32_t key) {
  return {reinterpret_cast<uintptr_t>(bytes), static_cast<uint32_t>(size), key};
}

// The result of a post that a queue with room refused: worth a retry, or fatal.
error_t refusal(int code) {
  return code == ENOMEM || code == EAGAIN ? errorcode_t::retry_nomem : errorcode_t::fatal;
}

}  // namespace

// The result of a post to a peer that is not alive. Requests a connection if there is none yet.
error_t rdma_device::refuse(peer& to) {
  if (to.state.load(std::memory_order_relaxed) == peer_state::unconnected) {
    want_connection(to);
    return errorcode_t::retry_nomem;
  }
  return errorcode_t::fatal;
}

// Returns done if a message to the peer can be posted now. With the lock of its queue.
inline error_t rdma_device::may_send(peer& to) {
  if (__builtin_expect(to.state.load(std::memory_order_relaxed) != peer_state::alive, 0)) {
    return refuse(to);
  }
  return to.message_queue.is_full() ? errorcode_t::retry_nomem : errorcode_t::done;
}

error_t rdma_device::post(const op& operation) {
  return operation.kind == op_kind::send ? post_send(operation) : post_rma(operation);
}

error_t rdma_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                                const remote_place* where) {
  if (__builtin_expect(what.kind != op_kind::send || size > max_inline_, 0)) {
    return device::post_short(what, imm, buffer, size, where);
  }
  peer& to = peer_of(what.rank);
  send_queue& queue = to.message_queue;
  if (!queue.lock().try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (const error_t now = may_send(to); !now.is_done()) return now;
  ibv_sge whole = piece(buffer, size, 0);
  ibv_send_wr request = make_request(IBV_WR_SEND_WITH_IMM, &whole, 1);
  request.imm_data = encode_immediate(imm);
  request.send_flags = IBV_SEND_INLINE;
  queue.next().what = work::kind::quiet;
  const int code = queue.post(request, queue.wants_signal());
  return __builtin_expect(code == 0, 1) ? errorcode_t::done : refusal(code);
}

error_t rdma_device::post_send(const op& operation) {
  peer& to = peer_of(operation.rank);
  send_queue& queue = to.message_queue;
  if (!queue.lock().try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (const error_t now = may_send(to); !now.is_done()) return now;
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
    pieces[1].lkey = context_.regions().local_key(operation.local);
    entry.what = work::kind::user;
    entry.operation = op_kind::send;
    entry.context = operation.context;
    const int code = queue.post(request, /*signaled=*/true);
    return code == 0 ? errorcode_t::posted : refusal(code);
  }
  packet* copy = packets_.get();
  if (copy == nullptr) return errorcode_t::retry_nomem;
  if (operation.header_size > 0) {
    std::memcpy(copy->bytes, operation.header, operation.header_size);
  }
  std::memcpy(copy->bytes + operation.header_size, operation.buffer, operation.size);
  pieces[0] = piece(copy->bytes, size, own_->outgoing.key());
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

error_t rdma_device::post_rma(const op& operation) {
  peer& to = peer_of(operation.rank);
  send_queue& queue = to.rma_queue;
  if (!queue.lock().try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (__builtin_expect(to.state.load(std::memory_order_relaxed) != peer_state::alive, 0)) {
    return refuse(to);
  }
  // An empty put or get without a notification does nothing.
  if (operation.size == 0 && operation.kind != op_kind::put_imm) return errorcode_t::done;
  if (queue.is_full() || to.rma_broken) return errorcode_t::retry_nomem;
  work& entry = queue.next();
  entry.what = work::kind::user;
  entry.operation = operation.kind;
  entry.imm = operation.imm;
  entry.local_key = operation.size == 0 ? 0 : context_.regions().local_key(operation.local);
  entry.remote_key = static_cast<uint32_t>(operation.remote.key);
  entry.size = static_cast<uint32_t>(operation.size);
  entry.buffer = operation.buffer;
  entry.remote_address = operation.remote.base + operation.remote_offset;
  entry.context = operation.context;
  const int code = repost(queue, entry);
  return code == 0 ? errorcode_t::posted : refusal(code);
}

int rdma_device::repost(send_queue& through, const work& what) {
  ibv_sge whole = piece(what.buffer, what.size, what.local_key);
  ibv_send_wr request =
      make_request(what.operation == op_kind::get       ? IBV_WR_RDMA_READ
                   : what.operation == op_kind::put_imm ? IBV_WR_RDMA_WRITE_WITH_IMM
                                                        : IBV_WR_RDMA_WRITE,
                   &whole, what.size == 0 ? 0 : 1);
  request.imm_data = encode_immediate(what.imm);
  request.wr.rdma.remote_addr = what.remote_address;
  request.wr.rdma.rkey = what.remote_key;
  if (what.operation != op_kind::get && what.size <= max_inline_) {
    request.send_flags = IBV_SEND_INLINE;
  }
  return through.post(request, /*signaled=*/true);
}

bool rdma_device::send_control(int rank, const control& sent, work::kind what) {
  send_queue& queue = peer_of(rank).message_queue;
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
    whole = piece(entry.bytes->bytes, sizeof(sent), own_->outgoing.key());
  }
  packet* const copy = entry.bytes;
  if (queue.post(request, /*signaled=*/true) == 0) return true;
  if (copy != nullptr) packets_.put(copy);
  return false;
}

// Posts an empty write: neither the peer's program nor its library notices it.
bool rdma_device::send_marker(peer& to) {
  if (to.marked.load(std::memory_order_relaxed)) return true;
  send_queue& queue = to.message_queue;
  if (!queue.lock().try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (queue.is_full()) return false;
  ibv_send_wr request = make_request(IBV_WR_RDMA_WRITE, nullptr, 0);
  queue.next().what = work::kind::marker;
  to.marked.store(true, std::memory_order_relaxed);
  if (queue.post(request, /*signaled=*/true) == 0) return true;
  to.marked.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace lci::net::ibv
