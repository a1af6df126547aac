#include "lci/net/ibv/heartbeats.h"

#include <algorithm>

#include "lci/base/strings.h"

namespace lci::net::ibv {

void heartbeats::send_due(clock::duration passed, clock::time_point now) {
  const clock::duration pause = interval;
  const auto due = peers_.ranks() * std::min(passed, pause).count();
  for (auto i = (due + pause.count() - 1) / pause.count(); i > 0; --i) {
    const int rank = next_;
    next_ = rank + 1 == peers_.ranks() ? 0 : rank + 1;
    if (!peers_.is_self(rank)) send(rank, now);
  }
}

void heartbeats::send(int rank, clock::time_point now) {
  record& of_rank = records_[static_cast<size_t>(rank)];
  if (of_rank.is_pending || !is_probed(rank)) return;
  of_rank.is_pending = links_.post_heartbeat(rank);
  if (of_rank.misses == 0) of_rank.silent_since = now;
}

// A heartbeat without an answer breaks its queue pair. After the reset, the heartbeat is repeated
// with the same packet number: the remote end answers whether or not it has seen that packet
// before.
void heartbeats::handle(int rank, bool answered, clock::time_point now) {
  record& of_rank = records_[static_cast<size_t>(rank)];
  of_rank.is_pending = false;
  if (answered) {
    ++of_rank.answered;
    of_rank.misses = 0;
  }
  if (answered || !is_probed(rank)) return;
  ++of_rank.misses;
  const auto silence = now - of_rank.silent_since;
  if (of_rank.misses >= min_misses && silence >= failure_timeout) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence).count();
    peers_.suspect(rank, base::StrCat("its device has not answered for ", ms, " ms"));
    return;
  }
  const base::Status status = links_.reset_heartbeat_qp(rank, of_rank.answered);
  if (status.ok()) {
    send(rank, now);
  } else {
    peers_.suspect(rank, status.message());
  }
}

}  // namespace lci::net::ibv
