#include "lci/net/peer_health.h"

#include <algorithm>

#include "lci/base/log.h"

namespace lci::net {

peer_health::peer_health(const char* backend, int ranks, peer_state first,
                         clock::duration check_interval)
    : states_(base::make_aligned_array<std::atomic<peer_state>>(static_cast<size_t>(ranks))),
      backend_(backend),
      check_interval_(check_interval),
      last_check_(clock::now()) {
  for (int r = 0; r < ranks; ++r) set(r, first);
}

bool peer_health::connected(int rank) {
  if (state(rank) != peer_state::unconnected) return false;
  set(rank, peer_state::alive);
  return true;
}

bool peer_health::suspect(int rank, std::string_view reason) {
  if (state(rank) > peer_state::unconnected) return false;
  return add_suspect(rank, peer_state::suspected, reason);
}

bool peer_health::corrupt(int rank, std::string_view reason) {
  if (!is_readable(state(rank))) return false;
  return add_suspect(rank, peer_state::corrupt, reason);
}

bool peer_health::bye(int rank) {
  if (!is_readable(state(rank))) return false;
  set(rank, peer_state::left);
  return true;
}

bool peer_health::add_suspect(int rank, peer_state next, std::string_view reason) {
  if (!reason.empty()) {
    LCI_LOG(info, backend_, ": rank ", rank, " seems to have failed: ", reason);
  }
  set(rank, next);
  auto last = suspects_.before_begin();
  for (auto at = suspects_.begin(); at != suspects_.end(); last = at++) {
    if (at->rank == rank) {
      at->reason = reason;
      return true;
    }
  }
  suspects_.insert_after(last, {rank, std::string(reason), clock::now()});
  return true;
}

std::string peer_health::reason(int rank) const {
  const auto found = std::find_if(suspects_.begin(), suspects_.end(),
                                  [&](const suspicion& one) { return one.rank == rank; });
  return found == suspects_.end() ? "" : found->reason;
}

void peer_health::fail(const suspicion& confirmed) {
  set(confirmed.rank, peer_state::failed);
  if (confirmed.reason.empty()) return;
  LCI_LOG(warn, "rank ", confirmed.rank, " has failed: ", confirmed.reason);
}

peer_health::clock::duration peer_health::check_due(clock::time_point now) {
  const clock::duration passed = now - last_check_;
  if (passed < check_interval_) return clock::duration::zero();
  last_check_ = now;
  return passed;
}

}  // namespace lci::net
