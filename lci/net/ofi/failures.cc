// Detection of failed ranks, and cleanup after a failure.
#include <sys/mman.h>

#include <algorithm>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/device.h"

namespace lci::net::ofi {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds check_interval{100};
// Packets that a rank sent before it failed may still be on their way through the host. They have
// all arrived when no packet of that rank came during this many reads that left the completion
// queue empty, over this time. (Packets of other ranks do not count, or they could delay the
// detection forever.)
constexpr uint32_t silent_reads = 64;
constexpr milliseconds silent_time{100};
// Each rank on another host is sent a packet once in this interval; in large jobs, one rank is
// probed per check_interval. A failed rank does not take the packet, and the provider reports that.
constexpr milliseconds probe_interval{1000};

}  // namespace

void ofi_device::check_for_failures() {
  const auto now = steady_clock::now();
  if (now - last_check_ < check_interval) return;
  last_check_ = now;
  for (int r = 0; r < ranks_; ++r) {
    if (is_self(r) || peer_of(r).state != peer_state::alive || !context_.has_ended(r)) continue;
    suspect(r, "its process has ended");
  }
  probe();
}

void ofi_device::suspect(int rank, const std::string& reason) {
  peer& other = peer_of(rank);
  if (other.state != peer_state::alive) return;
  // Its bye may still be in flight.
  LCI_LOG(info, "ofi: rank ", rank, " seems to have failed: ", reason);
  other.state = peer_state::suspected;
  other.since = steady_clock::now();
  other.heard = emptied_;
  ++suspects_;
}

void ofi_device::suspect_corrupt(int rank, const char* reason) {
  peer& other = peer_of(rank);
  if (other.state != peer_state::alive && other.state != peer_state::suspected) return;
  LCI_LOG(warn, "ofi: rank ", rank, ": ", reason);
  if (other.state == peer_state::alive) ++suspects_;
  other.state = peer_state::corrupt;
}

void ofi_device::confirm_failures() {
  if (!arrived_.empty()) return;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = peer_of(r);
    if (other.state == peer_state::suspected && emptied_ - other.heard >= silent_reads &&
        steady_clock::now() - other.since >= silent_time) {
      LCI_LOG(warn, "rank ", r, " has failed");
      report_failure(r);
    } else if (other.state == peer_state::corrupt) {
      report_failure(r);
    }
  }
}

void ofi_device::report_failure(int rank) {
  peer_of(rank).state = peer_state::failed;
  --suspects_;
  // It may have been killed before it removed the name itself.
  if (context_.has_ended(rank)) remove_shared_memory(rank);
  forget(rank);
  completion failed;
  failed.kind = completion_kind::peer_failed;
  failed.rank = rank;
  ready_.push_back(failed);
}

void ofi_device::remove_shared_memory(int rank) {
  const std::string& name = peer_of(rank).shared_memory;
  if (!name.empty()) shm_unlink(name.c_str());
}

// Ends all operations that wait for a rank that is gone.
void ofi_device::forget(int rank) {
  peer& gone = peer_of(rank);
  moved_ = true;
  for (uint32_t i = 0; i < max_requests; ++i) {
    if ((gone.free_requests >> i & 1) == 0) {
      ready_.push_back(close_request(rank, i, /*failed=*/true));
    }
  }
  for (size_t i = 0; i < access_count_; ++i) {
    access& under_way = accesses_[i];
    if (under_way.rank != rank || under_way.abandoned ||
        std::find(free_accesses_.begin(), free_accesses_.end(), &under_way) !=
            free_accesses_.end()) {
      continue;
    }
    if (under_way.is_local) {
      completion finished;
      finished.kind = under_way.kind == op_kind::get ? completion_kind::get : completion_kind::put;
      finished.rank = rank;
      finished.context = under_way.user_context;
      finished.failed = true;
      ready_.push_back(finished);
    }
    // It stays in use until libfabric reports its completion.
    under_way.abandoned = true;
  }
  gone.deferred.clear();
  gone.incoming_requests = 0;
  if (gone.filling != nullptr) {
    free_packets_.push_back(gone.filling);
    gone.filling = nullptr;
  }
}

void ofi_device::handle_bye(int rank) {
  peer& gone = peer_of(rank);
  if (gone.state == peer_state::suspected) --suspects_;
  if (gone.state == peer_state::alive || gone.state == peer_state::suspected) {
    gone.state = peer_state::ended;
    forget(rank);
  }
}

// Sends a packet to a rank whose process this host cannot see: only a failed send shows its
// failure.
void ofi_device::probe() {
  const auto now = steady_clock::now();
  const auto pause = std::max(probe_interval / std::max(ranks_, 1), check_interval);
  if (now - last_probe_ < pause) return;
  last_probe_ = now;
  for (int i = 0; i < ranks_; ++i) {
    const int rank = next_probe_;
    next_probe_ = rank + 1 == ranks_ ? 0 : rank + 1;
    peer& other = peer_of(rank);
    if (is_self(rank) || !context_.is_elsewhere(rank) || other.state != peer_state::alive) continue;
    // A packet in flight serves as a probe.
    if (other.filling == nullptr && other.in_flight == 0 && other.credit.any()) send_behind(rank);
    return;
  }
}

}  // namespace lci::net::ofi
