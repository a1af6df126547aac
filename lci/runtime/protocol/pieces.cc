#include "lci/runtime/protocol/pieces.h"

#include <algorithm>

#include "lci/runtime/protocol/host.h"
#include "lci/runtime/protocol/piece_size.h"

namespace lci::rt {
error_t pieces::start(protocol_host& host, bool may_wait) {
  posted_ = 0;
  if (runs != nullptr) take_run(0);
  return post_rest(host, may_wait);
}

void pieces::take_run(size_t i) {
  run_ = i;
  posted_ = 0;
  whole.buffer = runs[i].buffer;
  whole.size = runs[i].size;
  whole.remote_offset = runs[i].remote_offset;
}

// The object may be gone once a post has answered `posted`, or is in the backlog.
error_t pieces::post_rest(protocol_host& host, bool may_wait) {
  net::op op = whole;
  op.context = static_cast<continuation*>(this);
  const net::device_limits& limits = host.net->limits(op.rank);
  size_t most = std::min(host.max_rma(), limits.max_rma);
  if (op.latency_critical && limits.latency_critical_piece != 0) {
    most = std::min(most, limits.latency_critical_piece);
  }
  for (;;) {
    const size_t left = whole.size - posted_;
    const size_t piece = std::min(left, piece_size(whole.size, most));
    if (notifies && piece == left && is_last_run()) op.kind = net::op_kind::put_imm;
    op.buffer = static_cast<char*>(whole.buffer) + posted_;
    op.size = piece;
    op.remote_offset = whole.remote_offset + posted_;
    const bool first = posted_ == 0 && (runs == nullptr || run_ == 0);
    posted_ += piece;
    const error_t result = host.net->post(op);
    if (result.is_retry()) {
      if (first && !may_wait) return result;
      host.backlog.push(op, this, result);
      return errorcode_t::posted_backlog;
    }
    if (!result.is_done()) return result;
    if (posted_ < whole.size) continue;
    if (is_last_run()) return errorcode_t::done;
    take_run(run_ + 1);
  }
}

void pieces::completed(protocol_host& host, errorcode_t code) {
  const bool ends_run = posted_ == whole.size;
  if (code != errorcode_t::fatal && !(ends_run && is_last_run())) {
    if (ends_run) take_run(run_ + 1);
    const error_t result = post_rest(host, /*may_wait=*/true);
    if (result.is_posted()) return;
    code = result.errorcode;
  }
  finished(host, code == errorcode_t::fatal ? code : errorcode_t::done);
}

}  // namespace lci::rt
