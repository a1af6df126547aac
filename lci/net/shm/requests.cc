#include "lci/net/shm/requests.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "lci/base/copy.h"
#include "lci/base/tsan_ignore_scope.h"

namespace lci::net::shm {
namespace {

remote_region region_of(const remote_copy_header& header) { return {header.base, header.key}; }

}  // namespace

request_table::request_table(int ranks, region_table& regions, size_t piece, large_puts& timed)
    : regions_(regions),
      piece_(piece),
      timed_(timed),
      with_(new conversation[static_cast<size_t>(ranks)]) {}

// Requester.

error_t request_table::post(const op& operation, ring_writer& writer, int64_t begin) {
  conversation& with = with_[static_cast<size_t>(operation.rank)];
  const uint32_t free = with.free.load(std::memory_order_acquire);  // F2
  if (free == 0) return errorcode_t::retry_nomem;
  const auto number = static_cast<uint32_t>(__builtin_ctz(free));
  request& made = with.requests[number];
  made.kind = operation.kind;
  made.imm = operation.imm;
  made.size = operation.size;
  made.moved.store(0, std::memory_order_relaxed);
  made.buffer = static_cast<unsigned char*>(operation.buffer);
  made.context = operation.context;
  made.remote = operation.remote;
  made.offset = operation.remote_offset;
  made.begin = begin;

  const bool is_get = operation.kind == op_kind::get;
  const size_t first = is_get ? 0 : std::min(made.size, piece_);
  // Puts take turns: pieces of one between those of another would help neither.
  const bool waits = !is_get && with.count_unwritten > 0;
  if (!waits && !writer.has_room(sizeof(remote_copy_header) + first)) {
    return errorcode_t::retry_nomem;
  }
  // Before the write: the reply may come at once, to another thread.
  with.free.fetch_and(~(uint32_t{1} << number), std::memory_order_release);  // F3
  if (is_get) {
    const remote_copy_header header{number,          0,           made.remote.base,
                                    made.remote.key, made.offset, made.size};
    writer.write(ring_message_kind::get_request, 0, {&header, sizeof(header), nullptr, 0});
    return errorcode_t::posted;
  }
  with.unwritten[(with.first_unwritten + with.count_unwritten) % max_requests] = number;
  ++with.count_unwritten;
  unwritten_.fetch_add(1, std::memory_order_relaxed);
  if (!waits) write_more(operation.rank, writer);
  return errorcode_t::posted;
}

void request_table::write_more(int rank, ring_writer& writer) {
  conversation& with = with_[static_cast<size_t>(rank)];
  while (with.count_unwritten > 0) {
    const uint32_t number = with.unwritten[with.first_unwritten];
    request& oldest = with.requests[number];
    do {
      // Once the last piece is written, the request may be over, and another's.
      const bool last = oldest.size - oldest.moved.load(std::memory_order_relaxed) <= piece_;
      if (!write_piece(oldest, number, writer)) return;
      if (last) break;
    } while (true);
    with.first_unwritten = (with.first_unwritten + 1) % max_requests;
    --with.count_unwritten;
    unwritten_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool request_table::write_piece(request& of, uint32_t number, ring_writer& writer) {
  const size_t moved = of.moved.load(std::memory_order_relaxed);
  const size_t bytes = std::min(of.size - moved, piece_);
  if (!writer.has_room(sizeof(remote_copy_header) + bytes)) return false;
  const bool last = moved + bytes == of.size;
  const remote_copy_header header{number,        last ? last_piece : 0, of.remote.base,
                                  of.remote.key, of.offset + moved,     bytes};
  const bool notifies = last && of.kind == op_kind::put_imm;
  const unsigned char* const from = of.buffer + moved;
  const net_imm_data_t imm = of.imm;
  of.moved.store(moved + bytes, std::memory_order_relaxed);
  // The program may use the buffer when the reply has come: that order comes through the peer.
  const base::tsan_ignore_scope access;
  writer.write(notifies ? ring_message_kind::put_imm_request : ring_message_kind::put_request, imm,
               {&header, sizeof(header), from, bytes});
  return true;
}

void request_table::close(int rank, uint32_t operation, bool failed, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  const request& closed = with.requests[operation];
  *out = make_completion(closed.kind, rank, closed.context, failed);
  if (closed.begin != 0 && failed) {
    timed_.gave_up(copy_path::ring, rank, closed.size);
  } else if (closed.begin != 0) {
    timed_.ended(copy_path::ring, rank, closed.size, closed.begin);
  }
  with.free.fetch_or(uint32_t{1} << operation, std::memory_order_release);  // F1
}

take_result request_table::take_reply(int rank, const incoming& message, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  remote_copy_header header;
  if (message.size < sizeof(header)) return take_result::malformed;
  std::memcpy(&header, message.bytes, sizeof(header));
  if (header.operation >= max_requests ||
      (with.free.load(std::memory_order_acquire) >> header.operation & 1) != 0) {  // F3
    return take_result::malformed;
  }
  request& answered = with.requests[header.operation];
  const size_t bytes = message.size - sizeof(header);
  const size_t moved = answered.moved.load(std::memory_order_relaxed);
  if (answered.kind != op_kind::get || header.flag == 0) {
    // The last piece of a put was counted before it was written, and this is the answer to it.
    if (bytes != 0 || (answered.kind != op_kind::get && moved != answered.size)) {
      return take_result::malformed;
    }
    close(rank, header.operation, header.flag == 0, out);
    return take_result::completed;
  }
  const size_t left = answered.size - moved;
  if (header.size != left || bytes != std::min(left, piece_)) return take_result::malformed;
  if (bytes > 0) base::copy_data(answered.buffer + moved, message.bytes + sizeof(header), bytes);
  answered.moved.store(moved + bytes, std::memory_order_relaxed);
  if (bytes < left) return take_result::nothing;
  close(rank, header.operation, /*failed=*/false, out);
  return take_result::completed;
}

bool request_table::give_up(int rank, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  owed_.fetch_sub(with.count_owed, std::memory_order_relaxed);
  with.count_owed = 0;
  unwritten_.fetch_sub(with.count_unwritten, std::memory_order_relaxed);
  with.count_unwritten = 0;
  const uint32_t open = ~with.free.load(std::memory_order_acquire);
  if (open == 0) return false;
  close(rank, static_cast<uint32_t>(__builtin_ctz(open)), /*failed=*/true, out);
  return true;
}

// Target.

take_result request_table::take(int rank, const incoming& message, ring_writer& back,
                                completion* out) {
  switch (message.kind) {
    case ring_message_kind::reply:
      return take_reply(rank, message, out);
    case ring_message_kind::get_request:
      return take_get(rank, message, back);
    default:
      return take_put(rank, message, back, out);
  }
}

take_result request_table::take_put(int rank, const incoming& message, ring_writer& back,
                                    completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  reply answer{message.kind, {}};
  remote_copy_header& header = answer.header;
  if (message.size < sizeof(header)) return take_result::malformed;
  std::memcpy(&header, message.bytes, sizeof(header));
  const size_t bytes = message.size - sizeof(header);
  const bool notifies = message.kind == ring_message_kind::put_imm_request;
  const bool last = (header.flag & last_piece) != 0;
  if (header.size != bytes || bytes > piece_ || header.operation >= max_requests ||
      (notifies && !last) || (last && with.count_owed == max_requests)) {
    return take_result::malformed;
  }
  const unsigned char* from = message.bytes + sizeof(header);
  bool open = regions_.use(region_of(header), header.offset, bytes, [&](void* to) {
    if (bytes > 0) base::copy_data(to, from, bytes);
  });
  const uint32_t bit = uint32_t{1} << header.operation;
  if (!open) with.refused |= bit;
  if (!last) return take_result::nothing;
  open = (with.refused & bit) == 0;
  with.refused &= ~bit;
  header.flag = open ? 1 : 0;
  queue_reply(rank, answer, back);
  if (!notifies || !open) return take_result::nothing;
  *out = make_event(completion_kind::remote_put, rank, message.imm);
  return take_result::completed;
}

take_result request_table::take_get(int rank, const incoming& message, ring_writer& back) {
  reply answer{message.kind, {}};
  if (message.size != sizeof(answer.header)) return take_result::malformed;
  std::memcpy(&answer.header, message.bytes, sizeof(answer.header));
  if (with_[static_cast<size_t>(rank)].count_owed == max_requests) return take_result::malformed;
  answer.header.flag = 1;
  queue_reply(rank, answer, back);
  return take_result::nothing;
}

void request_table::queue_reply(int rank, const reply& answer, ring_writer& back) {
  conversation& with = with_[static_cast<size_t>(rank)];
  with.owed[(with.first_owed + with.count_owed) % max_requests] = answer;
  ++with.count_owed;
  owed_.fetch_add(1, std::memory_order_relaxed);
  send_owed(rank, back);
}

void request_table::send_owed(int rank, ring_writer& back) {
  conversation& with = with_[static_cast<size_t>(rank)];
  while (with.count_owed > 0 && send(with.owed[with.first_owed], back)) {
    with.first_owed = (with.first_owed + 1) % max_requests;
    --with.count_owed;
    owed_.fetch_sub(1, std::memory_order_relaxed);
  }
}

// True when all of it is in the ring.
bool request_table::send(reply& owed, ring_writer& back) {
  if (!back.lock.try_lock()) return false;
  const std::lock_guard<ds::biased_lock> guard(back.lock, std::adopt_lock);
  remote_copy_header& header = owed.header;
  if (owed.to != ring_message_kind::get_request) {
    return back.write(ring_message_kind::reply, 0, {&header, sizeof(header), nullptr, 0});
  }
  for (;;) {
    const size_t bytes = std::min<uint64_t>(header.size, piece_);
    bool sent = false;
    // The whole rest must be open, not only this piece: else the sum could wrap around.
    const bool open = regions_.use(region_of(header), header.offset, header.size, [&](void* from) {
      sent = back.write(ring_message_kind::reply, 0, {&header, sizeof(header), from, bytes});
    });
    if (!open) {
      header.flag = 0;
      return back.write(ring_message_kind::reply, 0, {&header, sizeof(header), nullptr, 0});
    }
    if (!sent) return false;
    header.offset += bytes;
    header.size -= bytes;
    if (header.size == 0) return true;
  }
}

}  // namespace lci::net::shm
