#include "lci/runtime/protocol/raw.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "lci/base/copy.h"
#include "lci/base/log.h"
#include "lci/runtime/core/poll_answer.h"

namespace lci::rt {
namespace {

// Completions taken from the network at a time.
constexpr size_t batch_size = 16;

net_opcode_t opcode_of(net::completion_kind kind) {
  return kind == net::completion_kind::send  ? net_opcode_t::SEND
         : kind == net::completion_kind::get ? net_opcode_t::READ
                                             : net_opcode_t::WRITE;
}

}  // namespace

void raw_network::post_receive(const receive& posted) {
  const std::lock_guard<ds::spinlock> guard(lock_);
  receives_.push_back(posted);
}

error_t raw_network::post(net::op op, packet* copy) {
  operation* state = operations_.make();
  open_.fetch_add(1, std::memory_order_relaxed);
  *state = {op.context, copy};
  op.context = state;
  const error_t result = device_.post(op);
  if (result.is_posted()) return errorcode_t::done;
  if (result.is_done() && copy == nullptr) {
    net_status_t status;
    status.opcode = opcode_of(net::make_completion(op.kind, op.rank, nullptr, false).kind);
    status.rank = op.rank;
    status.length = op.size;
    status.user_context = state->user_context;
    const std::lock_guard<ds::spinlock> guard(lock_);
    finished_.push_back(status);
  }
  if (copy != nullptr) copy->put();
  end(state);
  return result;
}

void raw_network::end(operation* state) {
  operations_.recycle(state);
  open_.fetch_sub(1, std::memory_order_relaxed);
}

size_t raw_network::poll(net_status_t* out, size_t max) {
  size_t filled = 0;
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    is_polled_ = true;
    for (; filled < max && !finished_.empty(); ++filled) {
      out[filled] = finished_.front();
      finished_.pop_front();
    }
  }
  while (filled < max) {
    net::completion completions[batch_size];
    size_t count = 0;
    const error_t answer = device_.poll(completions, std::min(batch_size, max - filled), &count);
    if (!is_poll_answer(answer)) report_poll_answer(answer);
    if (count == 0) break;
    for (size_t i = 0; i < count; ++i) {
      if (describe(completions[i], &out[filled])) ++filled;
    }
  }
  return filled;
}

bool raw_network::describe(const net::completion& completion, net_status_t* out) {
  *out = net_status_t();
  out->rank = completion.rank;
  out->length = completion.size;
  out->imm_data = completion.imm;
  switch (completion.kind) {
    case net::completion_kind::recv:
      receive_message(completion, out);
      return true;
    case net::completion_kind::remote_put:
      out->opcode = net_opcode_t::REMOTE_WRITE;
      return true;
    case net::completion_kind::peer_failed:
      return true;  // ERROR, of that rank
    case net::completion_kind::send:
    case net::completion_kind::put:
    case net::completion_kind::get:
      break;
  }
  out->opcode = completion.failed ? net_opcode_t::ERROR : opcode_of(completion.kind);
  auto* state = static_cast<operation*>(completion.context);
  const operation finished = *state;
  end(state);
  out->user_context = finished.user_context;
  if (finished.copy == nullptr) return true;
  finished.copy->put();
  return completion.failed;
}

void raw_network::receive_message(const net::completion& completion, net_status_t* out) {
  receive room{};
  bool posted = false;
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    if (!receives_.empty()) {
      posted = true;
      room = receives_.front();
      receives_.pop_front();
    }
  }
  out->user_context = room.user_context;
  if (posted && completion.size <= room.size) {
    if (completion.size > 0) base::copy_data(room.buffer, completion.bytes(), completion.size);
    out->opcode = net_opcode_t::RECV;
  } else {
    LCI_LOG(error, "a message of ", completion.size, " bytes from rank ", completion.rank,
            posted ? " is longer than its receive" : " has no receive");
  }
  device_.release(completion);
}

}  // namespace lci::rt
