// Puts and gets: by the provider, or asked of the target.
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
  // Nobody closes memory that a message is awaited in, so the provider does not run into memory
  // that is not open, and the question and answer, half the way of a large message, are saved.
  // Pieces are written in a row, through one connection, so the last one tells of all.
  if (writes_to_waiting_ && operation.latency_critical && operation.kind != op_kind::get &&
      operation.size > limits().max_send && !is_us(operation.rank)) {
    return post_native(operation);
  }
  return is_us(operation.rank) ? post_to_ourselves(operation) : post_request(operation);
}

error_t ofi_device::post_to_ourselves(const op& operation) {
  const bool is_get = operation.kind == op_kind::get;
  const bool tells = operation.kind == op_kind::put_imm;
  // What nobody polls for is bounded here, too.
  if (tells && ready_.size() >= config_.queues.sends_of_posts) return errorcode_t::retry_nomem;
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
  if (tells) {
    ready_.push_back(make_remote_put(operation.rank, operation.imm));
    wake_sleeper();
  }
  return errorcode_t::done;
}

// ---- by the provider ----------------------------------------------------------------------------

access* ofi_device::take_access(claim by) {
  const size_t kept = by == claim::post ? config_.queues.sends_of_progress : 0;
  if (free_accesses_.size() <= kept) return nullptr;
  access* taken = free_accesses_.back();
  free_accesses_.pop_back();
  taken->given_up = false;
  return taken;
}

error_t ofi_device::post_native(const op& operation) {
  peer& to = with(operation.rank);
  const bool tells = operation.kind == op_kind::put_imm;
  if (operation.size == 0) {
    // Providers need not know of nothing.
    if (!tells) return errorcode_t::done;
    outgoing_record told;
    told.kind = record_kind::put_done;
    told.imm = operation.imm;
    return append(operation.rank, told, claim::post) ? errorcode_t::done : errorcode_t::retry_nomem;
  }
  const bool by_write = tells && immediate_.fits();
  // Its entry in the target's completion queue has to have room there.
  if (by_write && !is_us(operation.rank) && !to.with.any()) return errorcode_t::retry_nomem;
  access* by = take_access(claim::post);
  if (by == nullptr) return errorcode_t::retry_nomem;
  by->rank = operation.rank;
  by->ours = true;
  by->kind = operation.kind;
  by->tells = tells && !by_write;
  by->imm = operation.imm;
  by->user_context = operation.context;
  const region_table::region& local = context_.regions().at(operation.local);
  // (Where peers ask, it is a region's number that they are told.)
  const uint64_t address =
      (rma_ == rma_mode::native ? operation.remote.base : 0) + operation.remote_offset;
  int64_t bad;
  if (operation.kind == op_kind::get) {
    bad =
        fi_read(own_->end.ep(), operation.buffer, operation.size, own_->in->descriptor(local.index),
                to.address, address, operation.remote.key, &by->context);
  } else {
    iovec bytes{operation.buffer, operation.size};
    void* descriptor = own_->in->descriptor(local.index);
    fi_rma_iov there{address, operation.size, operation.remote.key};
    fi_msg_rma message = {};
    message.msg_iov = &bytes;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = to.address;
    message.rma_iov = &there;
    message.rma_iov_count = 1;
    message.context = &by->context;
    message.data = immediate_layout::encode(context_.rank(), operation.imm);
    // (Who waits is told by the write itself.)
    bad = fi_writemsg(own_->end.ep(), &message,
                      FI_COMPLETION | (rma_ == rma_mode::native ? FI_DELIVERY_COMPLETE : 0) |
                          (by_write ? FI_REMOTE_CQ_DATA : 0));
  }
  if (bad == 0) {
    if (by_write && !is_us(operation.rank)) to.with.spend();
    return errorcode_t::posted;
  }
  free_accesses_.push_back(by);
  if (bad == -FI_EAGAIN) return errorcode_t::retry_nomem;
  if (bad != -FI_EACCES && bad != -FI_EINVAL && bad != -FI_ENOKEY) {
    suspect(operation.rank, base::StrCat("its memory could not be reached: ", describe(bad)));
  }
  return errorcode_t::fatal;
}

void ofi_device::finished(access& over, bool failed) {
  const int rank = over.rank;
  if (over.ours) {
    if (!over.given_up) {
      ready_.push_back(make_completion(over.kind, rank, over.user_context, failed));
      if (over.tells && !failed) {
        with(rank).owes.push_back({record_kind::put_done, true, over.imm, {}});
        wait(rank);
      }
    }
  } else if (!over.given_up) {
    owed& asked = over.asked;
    if (asked.to == record_kind::pull && asked.header.tells != 0 && !failed) {
      ready_.push_back(make_remote_put(rank, asked.imm));
    }
    with(rank).owes.push_back({record_kind::reply, !failed, 0, asked.header});
    wait(rank);
  }
  free_accesses_.push_back(&over);
}

// ---- asked of the target: the one who asks ------------------------------------------------------

error_t ofi_device::post_request(const op& operation) {
  peer& to = with(operation.rank);
  if (to.free_requests == 0) return errorcode_t::retry_nomem;
  const auto number = static_cast<uint32_t>(__builtin_ctz(to.free_requests));
  const bool is_get = operation.kind == op_kind::get;
  const size_t room = message_bytes_ - sizeof(packet_header) - sizeof(record_header) -
                      (is_get ? sizeof(reply_header) : sizeof(request_header));
  const bool together = operation.size <= room;
  request_header header = {};
  header.operation = number;
  header.tells = operation.kind == op_kind::put_imm ? 1 : 0;
  header.base = operation.remote.base;
  header.key = operation.remote.key;
  header.offset = operation.remote_offset;
  header.size = operation.size;
  outgoing_record record;
  record.imm = operation.imm;
  record.header = &header;
  record.header_size = sizeof(header);
  if (together) {
    record.kind = is_get ? record_kind::get : record_kind::put;
    record.body = operation.buffer;
    record.body_size = is_get ? 0 : operation.size;
  } else {
    const region_table::region& local = context_.regions().at(operation.local);
    record.kind = is_get ? record_kind::push : record_kind::pull;
    header.source_address =
        own_->in->address(local) +
        static_cast<uint64_t>(static_cast<unsigned char*>(operation.buffer) - local.address);
    header.source_key = own_->in->key(local.index);
  }
  if (!append(operation.rank, record, claim::post)) return errorcode_t::retry_nomem;
  to.requests[number] = {operation.kind, together, operation.size, operation.buffer,
                         operation.context};
  to.free_requests &= ~(uint32_t{1} << number);
  return errorcode_t::posted;
}

completion ofi_device::close_request(int rank, uint32_t number, bool failed) {
  peer& other = with(rank);
  const request& closed = other.requests[number];
  other.free_requests |= uint32_t{1} << number;
  return make_completion(closed.kind, rank, closed.context, failed);
}

bool ofi_device::take_reply(int rank, const incoming_record& record, batch* given) {
  peer& from = with(rank);
  reply_header header;
  if (record.size < sizeof(header)) return false;
  std::memcpy(&header, record.bytes, sizeof(header));
  if (header.operation >= max_requests || (from.free_requests >> header.operation & 1) != 0) {
    return false;
  }
  const request& answered = from.requests[header.operation];
  const bool brings = answered.kind == op_kind::get && answered.by_reply && header.ok != 0;
  const size_t bytes = record.size - sizeof(header);
  if (bytes != (brings ? answered.size : 0)) return false;
  if (bytes > 0) std::memcpy(answered.buffer, record.bytes + sizeof(header), bytes);
  given->add(close_request(rank, header.operation, header.ok == 0));
  return true;
}

// ---- the one who is asked -----------------------------------------------------------------------

bool ofi_device::take_request(int rank, const incoming_record& record, batch* given) {
  peer& from = with(rank);
  owed asked{record.kind, true, record.imm, {}};
  request_header& header = asked.header;
  if (record.size < sizeof(header) || from.being_asked == max_requests) return false;
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
  ++from.being_asked;
  if (record.kind == record_kind::put) {
    asked.to = record_kind::reply;
    asked.ok = context_.regions().use(region_of(header), header.offset, bytes,
                                      [&](const region_table::region&, unsigned char* to) {
                                        if (bytes > 0)
                                          std::memcpy(to, record.bytes + sizeof(header), bytes);
                                      });
    if (asked.ok && header.tells != 0) given->add(make_remote_put(rank, record.imm));
  }
  from.owes.push_back(asked);
  wait(rank);
  return true;
}

void ofi_device::pay(int rank) {
  peer& to = with(rank);
  size_t paid = 0;
  while (paid < to.owes.size() && to.state == peer_state::alive) {
    // A copy: what is done for it may add to the list.
    const owed front = to.owes[paid];
    if (!answer(rank, front)) break;
    ++paid;
  }
  if (paid == 0) return;
  moved_ = true;
  to.owes.erase(to.owes.begin(), to.owes.begin() + static_cast<std::ptrdiff_t>(paid));
}

// False: not now.
bool ofi_device::answer(int rank, const owed& front) {
  peer& to = with(rank);
  reply_header header{front.header.operation, front.ok ? 1u : 0u};
  switch (front.to) {
    case record_kind::pull:
    case record_kind::push:
      return start(rank, front);
    case record_kind::put_done: {
      outgoing_record told;
      told.kind = record_kind::put_done;
      told.imm = front.imm;
      return append(rank, told, claim::progress);
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
      if (sent) --to.being_asked;
      return sent;
    }
    default:
      if (!append(rank, make_reply(header, nullptr, 0), claim::progress)) return false;
      --to.being_asked;
      return true;
  }
}

// Reads or writes the requester's memory, into or from ours, if that is open. It has to stay so
// until the provider is done: who closes memory that a peer is putting into, or getting from, takes
// it away under the provider, as with one that needs not be asked.
bool ofi_device::start(int rank, const owed& front) {
  access* by = take_access(claim::progress);
  if (by == nullptr) return false;
  by->rank = rank;
  by->ours = false;
  by->asked = front;
  const request_header& header = front.header;
  const fi_addr_t address = with(rank).address;
  int64_t bad = 0;
  const bool open = context_.regions().use(
      region_of(header), header.offset, header.size,
      [&](const region_table::region& local, unsigned char* here) {
        void* descriptor = own_->in->descriptor(local.index);
        bad = front.to == record_kind::pull
                  ? fi_read(own_->end.ep(), here, header.size, descriptor, address,
                            header.source_address, header.source_key, &by->context)
                  : fi_write(own_->end.ep(), here, header.size, descriptor, address,
                             header.source_address, header.source_key, &by->context);
      });
  if (open && bad == 0) return true;
  if (open && bad == -FI_EAGAIN) {
    free_accesses_.push_back(by);
    return false;
  }
  if (open) {
    suspect(rank, base::StrCat("its memory could not be reached: ", describe(bad)));
  }
  finished(*by, /*failed=*/true);
  return true;
}

}  // namespace lci::net::ofi
