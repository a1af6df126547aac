#include "lci/runtime/protocol/pieces.h"

#include <algorithm>

#include "lci/runtime/device.h"

namespace lci::rt {

error_t pieces::start(device_impl_t& device, bool may_wait) {
  posted_ = 0;
  return post_rest(device, may_wait);
}

// The object may be gone once a post has answered `posted`, or is in the backlog.
error_t pieces::post_rest(device_impl_t& device, bool may_wait) {
  do {
    const size_t left = size - posted_;
    const size_t piece = std::min(left, device.max_rma());
    net::op op;
    op.kind = tells && piece == left ? net::op_kind::put_imm : kind;
    op.rank = rank;
    op.imm = imm;
    op.imm_high = imm_high;
    op.target_waits = target_waits;
    op.buffer = static_cast<char*>(buffer) + posted_;
    op.size = piece;
    op.local = local;
    op.remote = remote;
    op.remote_offset = remote_offset + posted_;
    op.context = static_cast<continuation*>(this);
    const bool first = posted_ == 0;
    posted_ += piece;
    const error_t result = device.net->post(op);
    if (result.is_retry()) {
      if (first && !may_wait) return result;
      device.backlog.push(op, this);
      return errorcode_t::posted_backlog;
    }
    if (!result.is_done()) return result;
  } while (posted_ < size);
  return errorcode_t::done;
}

void pieces::completed(device_impl_t& device, errorcode_t code) {
  if (code != errorcode_t::fatal && posted_ < size) {
    const error_t result = post_rest(device, /*may_wait=*/true);
    if (result.is_posted()) return;
    code = result.errorcode;
  }
  finished(device, code == errorcode_t::fatal ? code : errorcode_t::done);
}

}  // namespace lci::rt
