// Puts and gets: executed by the provider, or by the target on request.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>

#include "lci/base/strings.h"
#include "lci/net/ofi/device.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {
namespace {

remote_region region_of(const request_header& header) { return {header.base, header.key}; }

outgoing_record make_reply(const reply_header& header, const void* bytes, size_t size) {
  outgoing_record record;
  record.kind = record_kind::reply;
  record.header = &header;
  record.header_size = sizeof(header);
  record.body = bytes;
  record.body_size = size;
  return record;
}

completion make_completion(op_kind kind, int rank, void* context, bool failed) {
  completion made;
  made.kind = kind == op_kind::get ? completion_kind::get : completion_kind::put;
  made.rank = rank;
  made.context = context;
  made.failed = failed;
  return made;
}

completion make_remote_put(int rank, uint32_t imm) {
  completion made;
  made.kind = completion_kind::remote_put;
  made.rank = rank;
  made.imm = imm;
  return made;
}

}  // namespace

error_t ofi_device::post_rma(const op& operation) {
  if (rma_ == rma_mode::native) return post_native(operation);
  // The target waits for this put, so its memory is open and a direct write is safe. That saves the
  // request and the reply, half of the path of a large message. Pieces are written in order through
  // one connection, so the last one notifies of all.
  if (writes_latency_critical_ && operation.latency_critical && operation.kind != op_kind::get &&
      operation.size > limits().max_send && !is_self(operation.rank)) {
    return post_native(operation);
  }
  return is_self(operation.rank) ? post_to_self(operation) : post_request(operation);
}

error_t ofi_device::post_to_self(const op& operation) {
  const bool is_get = operation.kind == op_kind::get;
  const bool notifies = operation.kind == op_kind::put_imm;
  // Bounds the number of unpolled notifications.
  if (notifies && ready_.size() >= config_.queues.sends_of_posts) return errorcode_t::retry_nomem;
  const bool open =
      context_.regions().use(operation.remote, operation.remote_offset, operation.size,
                             [&](const region_table::region&, unsigned char* there) {
                               if (operation.size == 0) return;
                               if (is_get) {
                                 std::memmove(operation.buffer, there, operation.size);
                               } else {
                                 std::memmove(there, operation.buffer, operation.size);
                               }
                             });
  if (!open) return errorcode_t::fatal;
  if (notifies) {
    ready_.push_back(make_remote_put(operation.rank, operation.imm));
    wake_sleeper();
  }
  return errorcode_t::done;
}

// Executed by the provider.

access* ofi_device::take_access(claim by) {
  const size_t kept = by == claim::post ? config_.queues.sends_of_progress : 0;
  if (free_accesses_.size() <= kept) return nullptr;
  access* taken = free_accesses_.back();
  free_accesses_.pop_back();
  taken->abandoned = false;
  return taken;
}

error_t ofi_device::post_native(const op& operation) {
  peer& to = peer_of(operation.rank);
  const bool notifies = operation.kind == op_kind::put_imm;
  if (operation.size == 0) {
    // Providers need not support empty writes.
    if (!notifies) return errorcode_t::done;
    outgoing_record notice;
    notice.kind = record_kind::put_done;
    notice.imm = operation.imm;
    return append(operation.rank, notice, claim::post) ? errorcode_t::done
                                                       : errorcode_t::retry_nomem;
  }
  const bool notified_by_write = notifies && immediate_.fits();
  // A credit reserves an entry in the target's completion queue.
  if (notified_by_write && !is_self(operation.rank) && !to.credit.any()) {
    return errorcode_t::retry_nomem;
  }
  access* started = take_access(claim::post);
  if (started == nullptr) return errorcode_t::retry_nomem;
  started->rank = operation.rank;
  started->is_local = true;
  started->kind = operation.kind;
  started->notifies = notifies && !notified_by_write;
  started->imm = operation.imm;
  started->user_context = operation.context;
  const region_table::region& local = context_.regions().at(operation.local);
  // (With rma_mode::asked, remote.base is the number of a region, not an address.)
  const uint64_t address =
      (rma_ == rma_mode::native ? operation.remote.base : 0) + operation.remote_offset;
  int64_t code;
  if (operation.kind == op_kind::get) {
    code = fi_read(own_->ep.ep(), operation.buffer, operation.size,
                   own_->active_domain->descriptor(local.index), to.address, address,
                   operation.remote.key, &started->context);
  } else {
    iovec bytes{operation.buffer, operation.size};
    void* descriptor = own_->active_domain->descriptor(local.index);
    fi_rma_iov there{address, operation.size, operation.remote.key};
    fi_msg_rma message = {};
    message.msg_iov = &bytes;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = to.address;
    message.rma_iov = &there;
    message.rma_iov_count = 1;
    message.context = &started->context;
    message.data = immediate_layout::encode(context_.rank(), operation.imm);
    // (With rma_mode::asked, the write itself notifies the waiting target.)
    code = fi_writemsg(own_->ep.ep(), &message,
                       FI_COMPLETION | (rma_ == rma_mode::native ? FI_DELIVERY_COMPLETE : 0) |
                           (notified_by_write ? FI_REMOTE_CQ_DATA : 0));
  }
  if (code == 0) {
    if (notified_by_write && !is_self(operation.rank)) to.credit.spend();
    return errorcode_t::posted;
  }
  free_accesses_.push_back(started);
  if (code == -FI_EAGAIN) return errorcode_t::retry_nomem;
  if (code != -FI_EACCES && code != -FI_EINVAL && code != -FI_ENOKEY) {
    suspect(operation.rank, base::StrCat("its memory could not be reached: ", describe(code)));
  }
  return errorcode_t::fatal;
}

void ofi_device::access_done(access& finished, bool failed) {
  const int rank = finished.rank;
  if (finished.is_local) {
    if (!finished.abandoned) {
      ready_.push_back(make_completion(finished.kind, rank, finished.user_context, failed));
      if (finished.notifies && !failed) {
        peer_of(rank).deferred.push_back({record_kind::put_done, true, finished.imm, {}});
        add_pending(rank);
      }
    }
  } else if (!finished.abandoned) {
    deferred_answer& asked = finished.asked;
    if (asked.to == record_kind::pull && asked.header.notifies != 0 && !failed) {
      ready_.push_back(make_remote_put(rank, asked.imm));
    }
    peer_of(rank).deferred.push_back({record_kind::reply, !failed, 0, asked.header});
    add_pending(rank);
  }
  free_accesses_.push_back(&finished);
}

// Executed by the target: the requester's side.

error_t ofi_device::post_request(const op& operation) {
  peer& to = peer_of(operation.rank);
  if (to.free_requests == 0) return errorcode_t::retry_nomem;
  const auto number = static_cast<uint32_t>(__builtin_ctz(to.free_requests));
  const bool is_get = operation.kind == op_kind::get;
  const size_t room = message_bytes_ - sizeof(packet_header) - sizeof(record_header) -
                      (is_get ? sizeof(reply_header) : sizeof(request_header));
  const bool is_inline = operation.size <= room;
  request_header header = {};
  header.operation = number;
  header.notifies = operation.kind == op_kind::put_imm ? 1 : 0;
  header.base = operation.remote.base;
  header.key = operation.remote.key;
  header.offset = operation.remote_offset;
  header.size = operation.size;
  outgoing_record record;
  record.imm = operation.imm;
  record.header = &header;
  record.header_size = sizeof(header);
  if (is_inline) {
    record.kind = is_get ? record_kind::get : record_kind::put;
    record.body = operation.buffer;
    record.body_size = is_get ? 0 : operation.size;
  } else {
    const region_table::region& local = context_.regions().at(operation.local);
    record.kind = is_get ? record_kind::push : record_kind::pull;
    header.source_address =
        own_->active_domain->address(local) +
        static_cast<uint64_t>(static_cast<unsigned char*>(operation.buffer) - local.address);
    header.source_key = own_->active_domain->key(local.index);
  }
  if (!append(operation.rank, record, claim::post)) return errorcode_t::retry_nomem;
  to.requests[number] = {operation.kind, is_inline, operation.size, operation.buffer,
                         operation.context};
  to.free_requests &= ~(uint32_t{1} << number);
  return errorcode_t::posted;
}

completion ofi_device::close_request(int rank, uint32_t number, bool failed) {
  peer& other = peer_of(rank);
  const request& closed = other.requests[number];
  other.free_requests |= uint32_t{1} << number;
  return make_completion(closed.kind, rank, closed.context, failed);
}

bool ofi_device::take_reply(int rank, const incoming_record& record, batch* results) {
  peer& from = peer_of(rank);
  reply_header header;
  if (record.size < sizeof(header)) return false;
  std::memcpy(&header, record.bytes, sizeof(header));
  if (header.operation >= max_requests || (from.free_requests >> header.operation & 1) != 0) {
    return false;
  }
  const request& answered = from.requests[header.operation];
  const bool carries_bytes = answered.kind == op_kind::get && answered.by_reply && header.ok != 0;
  const size_t bytes = record.size - sizeof(header);
  if (bytes != (carries_bytes ? answered.size : 0)) return false;
  if (bytes > 0) std::memcpy(answered.buffer, record.bytes + sizeof(header), bytes);
  results->add(close_request(rank, header.operation, header.ok == 0));
  return true;
}

// Executed by the target: the target's side.

bool ofi_device::take_request(int rank, const incoming_record& record, batch* results) {
  peer& from = peer_of(rank);
  deferred_answer asked{record.kind, true, record.imm, {}};
  request_header& header = asked.header;
  if (record.size < sizeof(header) || from.incoming_requests == max_requests) return false;
  std::memcpy(&header, record.bytes, sizeof(header));
  const size_t bytes = record.size - sizeof(header);
  if (bytes != (record.kind == record_kind::put ? header.size : 0)) return false;
  if (record.kind == record_kind::get && header.size > message_bytes_ - sizeof(packet_header) -
                                                           sizeof(record_header) -
                                                           sizeof(reply_header)) {
    return false;
  }
  if ((record.kind == record_kind::pull || record.kind == record_kind::push) &&
      (rma_ == rma_mode::messages || header.size > limits().max_rma)) {
    return false;
  }
  ++from.incoming_requests;
  if (record.kind == record_kind::put) {
    asked.to = record_kind::reply;
    asked.ok = context_.regions().use(region_of(header), header.offset, bytes,
                                      [&](const region_table::region&, unsigned char* to) {
                                        if (bytes > 0)
                                          std::memcpy(to, record.bytes + sizeof(header), bytes);
                                      });
    if (asked.ok && header.notifies != 0) results->add(make_remote_put(rank, record.imm));
  }
  from.deferred.push_back(asked);
  add_pending(rank);
  return true;
}

void ofi_device::send_deferred(int rank) {
  peer& to = peer_of(rank);
  size_t paid = 0;
  while (paid < to.deferred.size() && to.state == peer_state::alive) {
    // A copy, since answering may append to the list.
    const deferred_answer front = to.deferred[paid];
    if (!answer(rank, front)) break;
    ++paid;
  }
  if (paid == 0) return;
  moved_ = true;
  to.deferred.erase(to.deferred.begin(), to.deferred.begin() + static_cast<std::ptrdiff_t>(paid));
}

// Returns false if it has to be repeated later.
bool ofi_device::answer(int rank, const deferred_answer& front) {
  peer& to = peer_of(rank);
  reply_header header{front.header.operation, front.ok ? 1u : 0u};
  switch (front.to) {
    case record_kind::pull:
    case record_kind::push:
      return start_access(rank, front);
    case record_kind::put_done: {
      outgoing_record notice;
      notice.kind = record_kind::put_done;
      notice.imm = front.imm;
      return append(rank, notice, claim::progress);
    }
    case record_kind::get: {
      bool sent = false;
      const bool open = context_.regions().use(
          region_of(front.header), front.header.offset, front.header.size,
          [&](const region_table::region&, unsigned char* from) {
            sent = append(rank, make_reply(header, from, front.header.size), claim::progress);
          });
      if (!open) {
        header.ok = 0;
        sent = append(rank, make_reply(header, nullptr, 0), claim::progress);
      }
      if (sent) --to.incoming_requests;
      return sent;
    }
    default:
      if (!append(rank, make_reply(header, nullptr, 0), claim::progress)) return false;
      --to.incoming_requests;
      return true;
  }
}

// Reads or writes the requester's memory, into or from local memory, if that is open. The memory
// has to stay open until the provider is done: a program that deregisters memory during a peer's
// put or get removes it from under the provider, as it would with native access.
bool ofi_device::start_access(int rank, const deferred_answer& front) {
  access* started = take_access(claim::progress);
  if (started == nullptr) return false;
  started->rank = rank;
  started->is_local = false;
  started->asked = front;
  const request_header& header = front.header;
  const fi_addr_t address = peer_of(rank).address;
  int64_t code = 0;
  const bool open = context_.regions().use(
      region_of(header), header.offset, header.size,
      [&](const region_table::region& local, unsigned char* here) {
        void* descriptor = own_->active_domain->descriptor(local.index);
        code = front.to == record_kind::pull
                   ? fi_read(own_->ep.ep(), here, header.size, descriptor, address,
                             header.source_address, header.source_key, &started->context)
                   : fi_write(own_->ep.ep(), here, header.size, descriptor, address,
                              header.source_address, header.source_key, &started->context);
      });
  if (open && code == 0) return true;
  if (open && code == -FI_EAGAIN) {
    free_accesses_.push_back(started);
    return false;
  }
  if (open) {
    suspect(rank, base::StrCat("its memory could not be reached: ", describe(code)));
  }
  access_done(*started, /*failed=*/true);
  return true;
}

}  // namespace lci::net::ofi
