#include "lci/net/ofi/rma.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>

#include "lci/base/copy.h"
#include "lci/base/strings.h"
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

outgoing_record make_notice(uint32_t imm) {
  outgoing_record record;
  record.kind = record_kind::put_done;
  record.imm = imm;
  return record;
}

// The room for bytes in a record behind a header of a request or a reply.
size_t room_behind(size_t header_size, size_t message_bytes) {
  return message_bytes - sizeof(packet_header) - sizeof(record_header) - header_size;
}

}  // namespace

rma::rma(device_core& core, packet_path& packets, region_table& regions, const provider& from,
         const device_limits& limits, const queue_lengths& queues, size_t message_bytes)
    : core_(core),
      packets_(packets),
      regions_(regions),
      limits_(limits),
      mode_(from.rma),
      writes_latency_critical_(from.writes_latency_critical()),
      immediate_(from.info->domain_attr->cq_data_size),
      queues_(queues),
      message_bytes_(message_bytes),
      requests_(core.ranks),
      answers_(core.ranks),
      access_count_(queues.sends()),
      accesses_(base::make_aligned_array<access>(access_count_)) {
  for (size_t i = 0; i < access_count_; ++i) {
    accesses_[i].what = operation::kind::access;
    free_accesses_.push_back(&accesses_[i]);
  }
}

// The endpoint has been closed, so that the provider no longer uses the memory.
rma::~rma() {
  for (size_t i = 0; i < access_count_; ++i) stop_counting(accesses_[i]);
}

error_t rma::post(const op& operation) {
  if (mode_ == rma_mode::native) return post_native(operation);
  // The target waits for this put, so its memory is open and a direct write is safe. That saves the
  // request and the reply, half of the path of a large message. Pieces are written in order through
  // one connection, so the last one notifies of all.
  if (writes_latency_critical_ && operation.latency_critical && operation.kind != op_kind::get &&
      operation.size > limits_.max_send && !core_.is_self(operation.rank)) {
    return post_native(operation);
  }
  return core_.is_self(operation.rank) ? post_to_self(operation) : post_request(operation);
}

error_t rma::post_to_self(const op& operation) {
  const bool is_get = operation.kind == op_kind::get;
  const bool notifies = operation.kind == op_kind::put_imm;
  // Bounds the number of unpolled notifications.
  if (notifies && core_.sink.waiting() >= queues_.sends_of_posts) return errorcode_t::retry_nomem;
  const bool open = regions_.use(operation.remote, operation.remote_offset, operation.size,
                                 [&](const region_table::region&, unsigned char* there) {
                                   void* const to = is_get ? operation.buffer : there;
                                   const void* const from = is_get ? there : operation.buffer;
                                   if (operation.size > 0) std::memmove(to, from, operation.size);
                                 });
  if (!open) return errorcode_t::fatal;
  if (notifies) {
    core_.sink.give(make_event(completion_kind::remote_put, operation.rank, operation.imm));
    core_.wake_sleeper();
  }
  return errorcode_t::done;
}

// Executed by the provider.

access* rma::take_access(claim by) {
  const size_t kept = by == claim::post ? queues_.sends_of_progress : 0;
  if (free_accesses_.size() <= kept) return nullptr;
  access* taken = free_accesses_.back();
  free_accesses_.pop_back();
  taken->abandoned = false;
  return taken;
}

error_t rma::post_native(const op& operation) {
  const bool notifies = operation.kind == op_kind::put_imm;
  if (operation.size == 0) {
    // Providers need not support empty writes.
    const bool sent =
        !notifies || packets_.append(operation.rank, make_notice(operation.imm), claim::post);
    return sent ? errorcode_t::done : errorcode_t::retry_nomem;
  }
  const bool notified_by_write = notifies && immediate_.fits();
  // A credit reserves an entry in the target's completion queue.
  if (notified_by_write && !core_.is_self(operation.rank) && !packets_.has_credit(operation.rank)) {
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
  const region_table::region& local = regions_.at(operation.local);
  const uint64_t address = operation.remote.base + operation.remote_offset;
  const uint64_t key =
      mode_ == rma_mode::native ? operation.remote.key : region_table::key_of(operation.remote);
  int64_t code;
  if (operation.kind == op_kind::get) {
    code = fi_read(core_.ep, operation.buffer, operation.size,
                   core_.own->active_domain->descriptor(local.index), core_.address(operation.rank),
                   address, key, &started->context);
  } else {
    iovec bytes{operation.buffer, operation.size};
    void* descriptor = core_.own->active_domain->descriptor(local.index);
    fi_rma_iov there{address, operation.size, key};
    fi_msg_rma message = {};
    message.msg_iov = &bytes;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = core_.address(operation.rank);
    message.rma_iov = &there;
    message.rma_iov_count = 1;
    message.context = &started->context;
    message.data = immediate_layout::encode(core_.rank, operation.imm);
    // (With rma_mode::asked, the write itself notifies the waiting target.)
    code = fi_writemsg(core_.ep, &message,
                       FI_COMPLETION | (mode_ == rma_mode::native ? FI_DELIVERY_COMPLETE : 0) |
                           (notified_by_write ? FI_REMOTE_CQ_DATA : 0));
  }
  if (code == 0) {
    if (notified_by_write && !core_.is_self(operation.rank)) packets_.spend_credit(operation.rank);
    return errorcode_t::posted;
  }
  give_back(*started);
  if (code == -FI_EAGAIN) return errorcode_t::retry_nomem;
  suspect(operation.rank, code);
  return errorcode_t::fatal;
}

void rma::stop_counting(access& finished) {
  if (finished.region == nullptr) return;
  finished.region->accesses.fetch_sub(1, std::memory_order_release);
  finished.region = nullptr;
}

void rma::give_back(access& finished) {
  stop_counting(finished);
  finished.rank = -1;
  free_accesses_.push_back(&finished);
}

// An access to the memory of a rank has failed.
void rma::suspect(int rank, int64_t code) {
  // Memory that is not open is an error of the requester only.
  if (code == -FI_EACCES || code == -FI_EPERM || code == -FI_EINVAL || code == -FI_ENOKEY) return;
  core_.suspect(rank, base::StrCat("its memory could not be reached: ", describe(code)));
}

void rma::access_failed(access& failed, int64_t code) {
  const int rank = failed.rank;
  end_access(failed, /*failed=*/true);
  suspect(rank, code);
}

void rma::end_access(access& finished, bool failed) {
  const int rank = finished.rank;
  const deferred_answer& asked = finished.asked;
  if (finished.abandoned) return give_back(finished);  // its completion was delivered
  if (finished.is_local) {
    core_.sink.give(make_completion(finished.kind, rank, finished.user_context, failed));
    if (finished.notifies && !failed) owe(rank, {record_kind::put_done, true, finished.imm, {}});
  } else {
    if (asked.to == record_kind::pull && asked.header.notifies != 0 && !failed) {
      core_.sink.give(make_event(completion_kind::remote_put, rank, asked.imm));
    }
    owe(rank, {record_kind::reply, !failed, 0, asked.header});
  }
  give_back(finished);
}

void rma::owe(int rank, const deferred_answer& owed) {
  answers_.push(rank, owed);
  core_.add_pending(rank);
}

// Executed by the target: the requester's side.

error_t rma::post_request(const op& operation) {
  if (requests_.is_full(operation.rank)) return errorcode_t::retry_nomem;
  const bool is_get = operation.kind == op_kind::get;
  const size_t header_bytes = is_get ? sizeof(reply_header) : sizeof(request_header);
  const bool is_inline = operation.size <= room_behind(header_bytes, message_bytes_);
  request_header header = {};
  header.operation = requests_.next(operation.rank);
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
    const region_table::region& local = regions_.at(operation.local);
    record.kind = is_get ? record_kind::push : record_kind::pull;
    header.source_address =
        core_.own->active_domain->address(local) +
        static_cast<uint64_t>(static_cast<unsigned char*>(operation.buffer) - local.address);
    header.source_key = core_.own->active_domain->key(local.index);
  }
  if (!packets_.append(operation.rank, record, claim::post)) return errorcode_t::retry_nomem;
  requests_.open(operation.rank,
                 {operation.kind, is_inline, operation.size, operation.buffer, operation.context});
  return errorcode_t::posted;
}

bool rma::take_reply(int rank, const incoming_record& record) {
  reply_header header;
  if (record.size < sizeof(header)) return false;
  std::memcpy(&header, record.bytes, sizeof(header));
  const request* answered = requests_.find(rank, header.operation);
  if (answered == nullptr) return false;
  const bool carries_bytes = answered->kind == op_kind::get && answered->by_reply && header.ok != 0;
  const size_t bytes = record.size - sizeof(header);
  if (bytes != (carries_bytes ? answered->size : 0)) return false;
  if (bytes > 0) base::copy_data(answered->buffer, record.bytes + sizeof(header), bytes);
  core_.sink.deliver(make_completion(answered->kind, rank, answered->context, header.ok == 0));
  requests_.close(rank, header.operation);
  return true;
}

// Executed by the target: the target's side.

bool rma::take_request(int rank, const incoming_record& record) {
  deferred_answer asked{record.kind, true, record.imm, {}};
  request_header& header = asked.header;
  if (record.size < sizeof(header)) return false;
  std::memcpy(&header, record.bytes, sizeof(header));
  const size_t bytes = record.size - sizeof(header);
  if (bytes != (record.kind == record_kind::put ? header.size : 0)) return false;
  if (record.kind == record_kind::get &&
      header.size > room_behind(sizeof(reply_header), message_bytes_)) {
    return false;
  }
  if ((record.kind == record_kind::pull || record.kind == record_kind::push) &&
      (mode_ == rma_mode::messages || header.size > limits_.max_rma)) {
    return false;
  }
  if (!answers_.admit(rank)) return false;
  if (record.kind == record_kind::put) {
    asked.to = record_kind::reply;
    asked.ok = regions_.use(region_of(header), header.offset, bytes,
                            [&](const region_table::region&, unsigned char* to) {
                              if (bytes > 0)
                                base::copy_data(to, record.bytes + sizeof(header), bytes);
                            });
    if (asked.ok && header.notifies != 0)
      core_.sink.deliver(make_event(completion_kind::remote_put, rank, record.imm));
  }
  owe(rank, asked);
  return true;
}

bool rma::send_deferred(int rank) {
  const auto send = [&](const deferred_answer& front) {
    return core_.health.is_alive(rank) && answer(rank, front);
  };
  if (answers_.send_all(rank, send)) core_.sink.note_progress();
  return !answers_.empty(rank);
}

// Returns false if it has to be repeated later.
bool rma::answer(int rank, const deferred_answer& front) {
  if (front.to == record_kind::pull || front.to == record_kind::push) {
    return start_access(rank, front);
  }
  if (front.to == record_kind::put_done) {
    return packets_.append(rank, make_notice(front.imm), claim::progress);
  }
  bool sent = false;
  const auto reply = [&](bool ok, const void* bytes, size_t size) {
    const reply_header header{front.header.operation, ok ? 1u : 0u};
    sent = packets_.append(rank, make_reply(header, bytes, size), claim::progress);
  };
  const bool with_bytes =
      front.to == record_kind::get &&
      regions_.use(region_of(front.header), front.header.offset, front.header.size,
                   [&](const region_table::region&, const unsigned char* from) {
                     reply(true, from, front.header.size);
                   });
  if (!with_bytes) reply(front.to == record_kind::reply && front.ok, nullptr, 0);
  if (sent) answers_.answered(rank);
  return sent;
}

// Reads or writes the requester's memory, into or from local memory, if that is open. The memory
// has to stay mapped until the provider is done: ofi_context::free_memory keeps what it has
// allocated. A program that unmaps registered memory during a peer's put or get removes it from
// under the provider, as it would with native access.
bool rma::start_access(int rank, const deferred_answer& front) {
  access* started = take_access(claim::progress);
  if (started == nullptr) return false;
  started->rank = rank;
  started->is_local = false;
  started->asked = front;
  const request_header& header = front.header;
  const fi_addr_t address = core_.address(rank);
  int64_t code = 0;
  const bool open = regions_.use(
      region_of(header), header.offset, header.size,
      [&](region_table::region& local, unsigned char* here) {
        void* descriptor = core_.own->active_domain->descriptor(local.index);
        local.accesses.fetch_add(1, std::memory_order_relaxed);
        started->region = &local;
        code = front.to == record_kind::pull
                   ? fi_read(core_.ep, here, header.size, descriptor, address,
                             header.source_address, header.source_key, &started->context)
                   : fi_write(core_.ep, here, header.size, descriptor, address,
                              header.source_address, header.source_key, &started->context);
      });
  if (open && code == 0) return true;
  if (open && code == -FI_EAGAIN) {
    give_back(*started);
    return false;
  }
  if (open) suspect(rank, code);
  end_access(*started, /*failed=*/true);
  return true;
}

void rma::forget(int rank) {
  core_.sink.note_progress();
  requests_.close_all(rank, [&](const request& open) {
    core_.sink.give(make_completion(open.kind, rank, open.context, /*failed=*/true));
  });
  for (size_t i = 0; i < access_count_; ++i) {
    access& under_way = accesses_[i];
    if (under_way.rank != rank || under_way.abandoned) continue;
    if (under_way.is_local) {
      core_.sink.give(
          make_completion(under_way.kind, rank, under_way.user_context, /*failed=*/true));
    }
    // It stays in use until libfabric reports its completion.
    under_way.abandoned = true;
  }
  answers_.forget(rank);
}

}  // namespace lci::net::ofi
