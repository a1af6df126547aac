#include "lci/runtime/protocol/atomics.h"

#include "lci/base/log.h"
#include "lci/runtime/protocol/apply_atomic.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/protocol/host.h"
#include "lci/runtime/protocol/rma.h"

namespace lci::rt {

// Initiator.

bool atomics::try_locally(const operation& started, const atomic_request& request) {
  uint64_t former = 0;
  const auto apply = [&](void* at) {
    former = apply_atomic(at, request.op, started.size, request.operands);
  };
  void* const mapped =
      host_.net->mapped_address(started.rank, started.remote, started.remote_offset, started.size);
  if (mapped != nullptr) {
    apply(mapped);
  } else if (started.rank != host_.state.rank() ||
             !host_.context.open_memory.use(started.remote.key, request.address, started.size,
                                            apply)) {
    return false;
  }
  store_former(started.buffer, former, started.size);
  notify_target(host_, started, {});
  return true;
}

error_t atomics::start(const operation& started, const atomic_request& request, bool may_wait) {
  if (try_locally(started, request)) return errorcode_t::done;
  if (started.rank == host_.state.rank()) return errorcode_t::fatal;
  state* const made = states_.make();
  made->of = this;
  made->whole = started;
  made->request = request;
  open_.fetch_add(1, std::memory_order_relaxed);
  const error_t result = send(made, may_wait);
  if (result.is_posted()) return result;
  if (result.is_retry() && may_wait) {
    host_.backlog.push(made, backlog::side::sender);
    return errorcode_t::posted_backlog;
  }
  // The target has not heard of it.
  made->whole.comp = nullptr;
  finish(made, errorcode_t::fatal);
  return result;
}

error_t atomics::send(state* waiting, bool may_wait) {
  // Copies: after the insertion the state belongs to the thread that takes it out again.
  const int rank = waiting->whole.rank;
  const atomic_operands operands = waiting->request.operands;
  atomic_header header{waiting->request.address,
                       waiting->whole.remote.key,
                       0,
                       static_cast<uint8_t>(waiting->request.op),
                       static_cast<uint8_t>(waiting->whole.size),
                       0};
  // In the table before the request leaves: the reply may come at once.
  header.ticket = waiting_.insert(waiting, rank);
  if (__builtin_expect(header.ticket == waiting_.none, 0)) return errorcode_t::retry_nomem;
  net::op op = control_op(rank, message_kind::atomic, header);
  op.buffer = const_cast<atomic_operands*>(&operands);
  op.size = sizeof(operands);
  const error_t result = host_.try_submit(op, nullptr);
  if (result.is_done() || result.is_posted()) return errorcode_t::posted;
  if (result.is_retry() && may_wait) {
    // The backlog copies the header, and the state keeps the rest.
    op.buffer = &waiting->request.operands;
    host_.backlog.push(op, nullptr, result);
    return errorcode_t::posted_backlog;
  }
  // If the state is no longer there, fail_peer has signaled: the operation counts as posted.
  return waiting_.take(header.ticket, rank) == nullptr ? error_t(errorcode_t::posted) : result;
}

bool atomics::state::try_begin(protocol_host& host) {
  atomics& all = *of;
  const error_t result = host.state.has_failed(whole.rank) ? error_t(errorcode_t::fatal)
                                                           : all.send(this, /*may_wait=*/true);
  if (result.errorcode == errorcode_t::fatal) all.finish(this, errorcode_t::fatal);
  return !result.is_retry();
}

void atomics::on_reply(int rank, const atomic_reply_header& header) {
  state* const waiting = waiting_.take(header.ticket, rank);
  if (waiting == nullptr) {
    LCI_LOG(error, "rank ", rank, " answers an atomic operation that was never sent to it");
    return;
  }
  const operation& whole = waiting->whole;
  if (header.result != atomic_result::done) {
    LCI_LOG(
        error, "rank ", rank, " refuses an atomic operation on ", whole.size, " bytes at byte ",
        whole.remote_offset, " of its memory: ",
        header.result == atomic_result::not_open
            ? "rmr names memory that is closed there (deregister_memory, free_mr) or that is of "
              "another rank or runtime"
            : "it does not know the operation; the versions of LCI may differ");
    finish(waiting, errorcode_t::fatal);
    return;
  }
  store_former(whole.buffer, header.former, whole.size);
  notify_target(host_, whole, {});
  finish(waiting, errorcode_t::done);
}

void atomics::finish(state* finished, errorcode_t code) {
  const operation ended = finished->whole;
  states_.recycle(finished);
  open_.fetch_sub(1, std::memory_order_release);
  ended.signal(code);
}

void atomics::fail_peer(int rank) {
  waiting_.take_all(rank, [this](state* waiting) { finish(waiting, errorcode_t::fatal); });
}

// Target.

void atomics::on_request(int rank, const atomic_header& header, const void* bytes, size_t size) {
  atomic_reply_header reply{0, header.ticket, atomic_result::malformed};
  atomic_operands operands{};
  const auto op = static_cast<atomic_op_t>(header.op);
  if (!decode(bytes, size, &operands) || !is_atomic(op, header.address, header.size)) {
    LCI_LOG(error, "rank ", rank,
            " asks for an atomic operation that this version does not know: ", unsigned{header.op},
            " on ", unsigned{header.size}, " bytes at address ", header.address);
  } else {
    const bool is_open = host_.context.open_memory.use(
        header.key, header.address, header.size,
        [&](void* at) { reply.former = apply_atomic(at, op, header.size, operands); });
    reply.result = is_open ? atomic_result::done : atomic_result::not_open;
  }
  host_.submit(control_op(rank, message_kind::atomic_reply, reply), nullptr);
}

}  // namespace lci::rt
