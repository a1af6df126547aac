// Ranks that are gone: how that is found out, and what it ends.
#include <sys/mman.h>

#include <algorithm>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/device.h"

namespace lci::net::ofi {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds time_between_looks{100};
// What a rank had sent before it went is still on its way through the host. It is here when nothing
// of it has come in so many reads that left no completion behind, over so long. (What others send
// does not count, or they could keep a failure from being seen.)
constexpr uint32_t reads_of_silence = 64;
constexpr milliseconds time_of_silence{100};
// Each rank on another host gets a packet in this time, or one of them in a hundredth of it. Who is
// gone does not take it, which the provider tells us.
constexpr milliseconds time_between_probes{1000};

}  // namespace

void ofi_device::look_for_failures() {
  const auto now = steady_clock::now();
  if (now - last_look_ < time_between_looks) return;
  last_look_ = now;
  for (int r = 0; r < ranks_; ++r) {
    if (is_us(r) || with(r).state != peer_state::alive || !context_.has_ended(r)) continue;
    suspect(r, "its process has ended");
  }
  probe();
}

void ofi_device::suspect(int rank, const std::string& reason) {
  peer& other = with(rank);
  if (other.state != peer_state::alive) return;
  // It may be about to tell that it has ended its device.
  LCI_LOG(info, "ofi: rank ", rank, " seems to have failed: ", reason);
  other.state = peer_state::suspected;
  other.since = steady_clock::now();
  other.heard = emptied_;
  ++suspects_;
}

void ofi_device::suspect_corrupt(int rank, const char* reason) {
  peer& other = with(rank);
  if (other.state != peer_state::alive && other.state != peer_state::suspected) return;
  LCI_LOG(warn, "ofi: rank ", rank, ": ", reason);
  if (other.state == peer_state::alive) ++suspects_;
  other.state = peer_state::corrupt;
}

void ofi_device::judge() {
  if (!arrived_.empty()) return;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = with(r);
    if (other.state == peer_state::suspected && emptied_ - other.heard >= reads_of_silence &&
        steady_clock::now() - other.since >= time_of_silence) {
      LCI_LOG(warn, "rank ", r, " has failed");
      report(r);
    } else if (other.state == peer_state::corrupt) {
      report(r);
    }
  }
}

void ofi_device::report(int rank) {
  with(rank).state = peer_state::failed;
  --suspects_;
  // Nobody else clears up behind it.
  const std::string& left = with(rank).shared_memory;
  if (!left.empty() && context_.has_ended(rank)) shm_unlink(left.c_str());
  forget(rank);
  completion failed;
  failed.kind = completion_kind::peer_failed;
  failed.rank = rank;
  ready_.push_back(failed);
}

// Ends all that waits for a rank that is gone.
void ofi_device::forget(int rank) {
  peer& gone = with(rank);
  moved_ = true;
  for (uint32_t i = 0; i < max_requests; ++i) {
    if ((gone.free_requests >> i & 1) == 0) {
      ready_.push_back(close_request(rank, i, /*failed=*/true));
    }
  }
  for (size_t i = 0; i < access_count_; ++i) {
    access& under_way = accesses_[i];
    if (under_way.rank != rank || under_way.given_up ||
        std::find(free_accesses_.begin(), free_accesses_.end(), &under_way) !=
            free_accesses_.end()) {
      continue;
    }
    if (under_way.ours) {
      completion over;
      over.kind = under_way.kind == op_kind::get ? completion_kind::get : completion_kind::put;
      over.rank = rank;
      over.context = under_way.user_context;
      over.failed = true;
      ready_.push_back(over);
    }
    // It stays in use until libfabric says that it is over.
    under_way.given_up = true;
  }
  gone.owes.clear();
  gone.being_asked = 0;
  if (gone.open != nullptr) {
    free_packets_.push_back(gone.open);
    gone.open = nullptr;
  }
}

void ofi_device::take_bye(int rank) {
  peer& gone = with(rank);
  if (gone.state == peer_state::suspected) --suspects_;
  if (gone.state == peer_state::alive || gone.state == peer_state::suspected) {
    gone.state = peer_state::ended;
    forget(rank);
  }
}

// One whose process can't be seen is only heard of when something is sent to it.
void ofi_device::probe() {
  const auto now = steady_clock::now();
  const auto pause = std::max(time_between_probes / std::max(ranks_, 1), time_between_looks);
  if (now - last_probe_ < pause) return;
  last_probe_ = now;
  for (int i = 0; i < ranks_; ++i) {
    const int rank = next_probe_;
    next_probe_ = rank + 1 == ranks_ ? 0 : rank + 1;
    peer& other = with(rank);
    if (is_us(rank) || !context_.is_elsewhere(rank) || other.state != peer_state::alive) continue;
    // With anything on the way there is no need for more.
    if (other.open == nullptr && other.in_flight == 0 && other.with.any()) send_behind(rank);
    return;
  }
}

}  // namespace lci::net::ofi
