#include "lci/net/shm/requests.h"

#include <cstring>
#include <mutex>

namespace lci::net::shm {
namespace {

message_kind request_kind(op_kind kind) {
  switch (kind) {
    case op_kind::put:
      return message_kind::put_request;
    case op_kind::put_imm:
      return message_kind::put_imm_request;
    default:
      return message_kind::get_request;
  }
}

remote_region region_of(const remote_copy_header& header) { return {header.base, header.key}; }

}  // namespace

request_table::request_table(int ranks, region_table& regions, size_t max_bytes)
    : regions_(regions),
      max_bytes_(max_bytes),
      with_(new conversation[static_cast<size_t>(ranks)]) {}

// ---- requester ----------------------------------------------------------------------------------

error_t request_table::post(const op& operation, ring_writer& writer) {
  conversation& with = with_[static_cast<size_t>(operation.rank)];
  const uint32_t free = with.free.load(std::memory_order_acquire);  // F2
  if (free == 0) return errorcode_t::retry_nomem;
  const auto number = static_cast<uint32_t>(__builtin_ctz(free));
  const bool is_get = operation.kind == op_kind::get;
  const remote_copy_header header{
      number,        0, operation.remote.base, operation.remote.key, operation.remote_offset,
      operation.size};
  const gather message{&header, sizeof(header), operation.buffer, is_get ? 0 : operation.size};
  if (!writer.has_room(message.header_size + message.size)) return errorcode_t::retry_nomem;
  // All before the write: the reply may come at once, to another thread.
  with.requests[number] = {operation.kind, operation.size, operation.buffer, operation.context};
  with.free.fetch_and(~(uint32_t{1} << number), std::memory_order_relaxed);
  writer.write(request_kind(operation.kind), operation.imm, message);
  return errorcode_t::posted;
}

void request_table::close(int rank, uint32_t operation, bool failed, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  const request& closed = with.requests[operation];
  *out = completion();
  out->kind = closed.kind == op_kind::get ? completion_kind::get : completion_kind::put;
  out->rank = rank;
  out->context = closed.context;
  out->failed = failed;
  with.free.fetch_or(uint32_t{1} << operation, std::memory_order_release);  // F1
}

request_table::result request_table::take_reply(int rank, const incoming& message,
                                                completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  remote_copy_header header;
  if (message.size < sizeof(header)) return result::malformed;
  std::memcpy(&header, message.bytes, sizeof(header));
  if (header.operation >= max_requests ||
      (with.free.load(std::memory_order_relaxed) >> header.operation & 1) != 0) {
    return result::malformed;
  }
  const request& answered = with.requests[header.operation];
  const bool brings_bytes = answered.kind == op_kind::get && header.ok != 0;
  const size_t bytes = message.size - sizeof(header);
  if (bytes != (brings_bytes ? answered.size : 0)) return result::malformed;
  if (bytes > 0) std::memcpy(answered.buffer, message.bytes + sizeof(header), bytes);
  close(rank, header.operation, header.ok == 0, out);
  return result::completed;
}

bool request_table::give_up(int rank, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  owed_.fetch_sub(with.count_owed, std::memory_order_relaxed);
  with.count_owed = 0;
  const uint32_t open = ~with.free.load(std::memory_order_acquire);
  if (open == 0) return false;
  close(rank, static_cast<uint32_t>(__builtin_ctz(open)), /*failed=*/true, out);
  return true;
}

// ---- target -------------------------------------------------------------------------------------

request_table::result request_table::take(int rank, const incoming& message, ring_writer& back,
                                          completion* out) {
  return message.kind == message_kind::reply ? take_reply(rank, message, out)
                                             : take_request(rank, message, back, out);
}

request_table::result request_table::take_request(int rank, const incoming& message,
                                                  ring_writer& back, completion* out) {
  conversation& with = with_[static_cast<size_t>(rank)];
  reply answer{message.kind, {}};
  remote_copy_header& header = answer.header;
  if (message.size < sizeof(header)) return result::malformed;
  std::memcpy(&header, message.bytes, sizeof(header));
  const bool is_get = message.kind == message_kind::get_request;
  const size_t bytes = message.size - sizeof(header);
  if (header.size > max_bytes_ || bytes != (is_get ? 0 : header.size)) return result::malformed;
  if (with.count_owed == max_requests) return result::malformed;
  header.ok = 1;
  if (!is_get) {
    const unsigned char* from = message.bytes + sizeof(header);
    header.ok = regions_.use(region_of(header), header.offset, bytes, [&](void* to) {
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
  }
  with.owed[(with.first_owed + with.count_owed) % max_requests] = answer;
  ++with.count_owed;
  owed_.fetch_add(1, std::memory_order_relaxed);
  pay(rank, back);
  if (message.kind != message_kind::put_imm_request || header.ok == 0) return result::nothing;
  *out = completion();
  out->kind = completion_kind::remote_put;
  out->rank = rank;
  out->imm = message.imm;
  return result::completed;
}

void request_table::pay(int rank, ring_writer& back) {
  conversation& with = with_[static_cast<size_t>(rank)];
  while (with.count_owed > 0 && send(with.owed[with.first_owed], back)) {
    with.first_owed = (with.first_owed + 1) % max_requests;
    --with.count_owed;
    owed_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool request_table::send(const reply& owed, ring_writer& back) {
  if (!back.lock.try_lock()) return false;
  const std::lock_guard<ds::biased_lock> guard(back.lock, std::adopt_lock);
  remote_copy_header header = owed.header;
  if (owed.to != message_kind::get_request) {
    return back.write(message_kind::reply, 0, {&header, sizeof(header), nullptr, 0});
  }
  bool sent = false;
  const bool open = regions_.use(region_of(header), header.offset, header.size, [&](void* from) {
    sent = back.write(message_kind::reply, 0, {&header, sizeof(header), from, header.size});
  });
  if (open) return sent;
  header.ok = 0;
  return back.write(message_kind::reply, 0, {&header, sizeof(header), nullptr, 0});
}

}  // namespace lci::net::shm
