#include "lci/net/ibv/rma_path.h"

#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/work_request.h"

namespace lci::net::ibv {
namespace {

// Whether the error is in the memory that was accessed, not in the peer.
bool is_of_memory(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
      return true;
    default:
      return false;
  }
}

}  // namespace

rma_path::rma_path(peer_table& peers, wanted_connections& wanted, const region_table& regions,
                   completion_sink& sink, message_path& messages, rma_links& links)
    : peers_(peers),
      queues_(peers.all_queues()),
      wanted_(wanted),
      regions_(regions),
      sink_(sink),
      messages_(messages),
      links_(links),
      recoveries_(static_cast<size_t>(peers.ranks())),
      pending_(peers.ranks()) {}

error_t rma_path::post(const op& operation) {
  send_queue& queue = queue_to(operation.rank);
  if (!queue.lock().try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(queue.lock(), std::adopt_lock);
  if (__builtin_expect(queue.is_full(), 0)) return refuse(operation.rank);
  // An empty put or get without a notification does nothing.
  if (operation.size == 0 && operation.kind != op_kind::put_imm) return errorcode_t::done;
  work& entry = queue.next();
  entry.what = work::kind::user;
  entry.operation = operation.kind;
  entry.imm = operation.imm;
  entry.local_key = operation.size == 0 ? 0 : regions_.local_key(operation.local);
  entry.remote_key = static_cast<uint32_t>(operation.remote.key);
  entry.size = static_cast<uint32_t>(operation.size);
  entry.buffer = operation.buffer;
  entry.remote_address = operation.remote.base + operation.remote_offset;
  entry.context = operation.context;
  const int code = issue(queue, entry);
  return code == 0 ? errorcode_t::posted : refusal(code);
}

int rma_path::issue(send_queue& through, const work& what) {
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

void rma_path::finish(int rank, const work& finished, bool failed) {
  sink_.give(make_completion(finished.operation, rank, finished.context, failed));
}

// Recovery.

void rma_path::failed(int rank, uint32_t position, ibv_wc_status status, const char* error) {
  recovery& recovering = recovery_of(rank);
  send_queue& queue = queue_to(rank);
  const bool is_alive = peers_.is_alive(rank);
  if (is_alive && recovering.now != step::none) {
    ++recovering.flushed;
    return;
  }
  const bool is_wrong_access = is_alive && is_of_memory(status);
  if (is_wrong_access) {
    LCI_LOG(debug, "ibv: a put to or get from rank ", rank, " failed: ", error);
    queue.admit(false);
    recovering.now = step::draining;
    recovering.flushed = 0;
    add_pending(rank);
  } else {
    peers_.suspect(rank, base::StrCat("its memory could not be reached: ", error));
  }
  queue.retire(position, [&](work& done) { finish(rank, done, /*failed=*/true); });
}

void rma_path::handle_recover(int rank, uint32_t first_psn) {
  if (const base::Status status = links_.reset_rma_target_qp(rank, first_psn); !status.ok()) {
    peers_.suspect(rank, status.message());
    return;
  }
  recovery_of(rank).owes_recovered = true;
  add_pending(rank);
}

void rma_path::handle_recovered(int rank) {
  recovery& recovering = recovery_of(rank);
  if (recovering.now != step::requested) {
    peers_.corrupt(rank, "it sent an unexpected message");
    return;
  }
  recovering.now = step::none;
  if (const base::Status status = reset_and_repost(rank); !status.ok()) {
    peers_.suspect(rank, status.message());
  } else if (peers_.is_alive(rank)) {
    queue_to(rank).admit(true);
  }
}

base::Status rma_path::reset_and_repost(int rank) {
  send_queue& queue = queue_to(rank);
  const std::lock_guard<ds::spinlock> guard(queue.lock());
  base::Status status = links_.reset_rma_qp(rank, recovery_of(rank).first_psn);
  const uint32_t again = queue.under_way();
  queue.rewind();
  for (uint32_t i = 0; i < again && status.ok(); ++i) {
    if (const int code = issue(queue, queue.next()); code != 0) {
      status = failure("reposting puts and gets", code);
    }
  }
  return status;
}

void rma_path::advance() {
  pending_.process_all([this](int rank) { return peers_.is_alive(rank) && advance(rank); });
}

// Returns whether something is left to be done.
bool rma_path::advance(int rank) {
  recovery& recovering = recovery_of(rank);
  if (recovering.owes_recovered && messages_.send_control(rank, {control_kind::recovered, 0})) {
    recovering.owes_recovered = false;
    sink_.note_progress();
  }
  if (recovering.now == step::draining && recovering.flushed == queue_to(rank).under_way()) {
    recovering.now = step::requesting;
    recovering.first_psn = random_number() & psn_mask;
  }
  if (recovering.now == step::requesting &&
      messages_.send_control(rank, {control_kind::recover, recovering.first_psn})) {
    recovering.now = step::requested;
    sink_.note_progress();
  }
  return recovering.owes_recovered || recovering.now != step::none;
}

void rma_path::stop(int rank) {
  recovery& recovering = recovery_of(rank);
  if (recovering.now != step::none && recovering.flushed > 0) {
    send_queue& queue = queue_to(rank);
    queue.retire(queue.tail() + recovering.flushed - 1,
                 [&](work& done) { finish(rank, done, /*failed=*/true); });
  }
  recovering.now = step::none;
  recovering.owes_recovered = false;
}

}  // namespace lci::net::ibv
