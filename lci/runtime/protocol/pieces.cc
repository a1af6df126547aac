#include "lci/runtime/protocol/pieces.h"

#include <algorithm>

#include "lci/runtime/device.h"

namespace lci::rt {

error_t pieces::start(device_impl_t& device, bool may_wait) {
  posted_ = 0;
  if (runs != nullptr) take_run(0);
  return post_rest(device, may_wait);
}

void pieces::take_run(size_t i) {
  run_ = i;
  posted_ = 0;
  buffer = runs[i].buffer;
  size = runs[i].size;
  remote_offset = runs[i].remote_offset;
}

// The object may be gone once a post has answered `posted`, or is in the backlog.
error_t pieces::post_rest(device_impl_t& device, bool may_wait) {
  net::op op;
  op.kind = kind;
  op.rank = rank;
  op.imm = imm;
  op.imm_high = imm_high;
  op.latency_critical = latency_critical;
  op.local = local;
  op.remote = remote;
  op.context = static_cast<continuation*>(this);
  const size_t most = latency_critical
                          ? std::min(device.max_rma(), device.net->preferred_chunk(rank))
                          : device.max_rma();
  for (;;) {
    const size_t left = size - posted_;
    const size_t piece = std::min(left, most);
    if (tells && piece == left && is_last_run()) op.kind = net::op_kind::put_imm;
    op.buffer = static_cast<char*>(buffer) + posted_;
    op.size = piece;
    op.remote_offset = remote_offset + posted_;
    const bool first = posted_ == 0 && (runs == nullptr || run_ == 0);
    posted_ += piece;
    const error_t result = device.net->post(op);
    if (result.is_retry()) {
      if (first && !may_wait) return result;
      device.backlog.push(op, this);
      return errorcode_t::posted_backlog;
    }
    if (!result.is_done()) return result;
    if (posted_ < size) continue;
    if (is_last_run()) return errorcode_t::done;
    take_run(run_ + 1);
  }
}

void pieces::completed(device_impl_t& device, errorcode_t code) {
  const bool ends_run = posted_ == size;
  if (code != errorcode_t::fatal && !(ends_run && is_last_run())) {
    if (ends_run) take_run(run_ + 1);
    const error_t result = post_rest(device, /*may_wait=*/true);
    if (result.is_posted()) return;
    code = result.errorcode;
  }
  finished(device, code == errorcode_t::fatal ? code : errorcode_t::done);
}

}  // namespace lci::rt
