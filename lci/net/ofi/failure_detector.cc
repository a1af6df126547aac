#include "lci/net/ofi/failure_detector.h"

#include <sys/mman.h>

#include <algorithm>

#include "lci/base/strings.h"

namespace lci::net::ofi {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Packets that a rank sent before it failed may still be on their way through the host. They have
// all arrived when no packet of that rank came during this many reads that left the completion
// queue empty, over this time. (Packets of other ranks do not count, or they could delay the
// detection forever.)
constexpr uint32_t silent_reads = 64;
constexpr milliseconds silent_time{100};
// Each rank on another host is sent a packet once in this interval; in large jobs, one rank is
// probed per check.
constexpr milliseconds probe_interval{1000};

}  // namespace

failure_detector::failure_detector(device_core& core, const process_table& processes,
                                   packet_path& packets, rma& accesses)
    : core_(core),
      processes_(processes),
      packets_(packets),
      rma_(accesses),
      shared_memory_(static_cast<size_t>(core.ranks)),
      last_probe_(steady_clock::now()) {}

void failure_detector::check() {
  const auto now = steady_clock::now();
  if (core_.health.check_due(now) == steady_clock::duration::zero()) return;
  for (int r = 0; r < core_.ranks; ++r) {
    if (core_.is_alive_peer(r) && processes_.has_ended(r)) {
      core_.suspect(r, "its process has ended");
    }
  }
  probe(now);
}

void failure_detector::confirm() {
  if (packets_.has_arrived()) return;
  core_.health.confirm(
      [&](const suspicion& one) {
        return core_.emptied - core_.heard[static_cast<size_t>(one.rank)] >= silent_reads &&
               steady_clock::now() - one.since >= silent_time;
      },
      [&](int rank) {
        // The rank may have been killed before it removed the name itself.
        if (processes_.has_ended(rank)) remove_shared_memory(rank);
        forget(rank);
        core_.sink.give(make_event(completion_kind::peer_failed, rank));
        return true;
      });
}

void failure_detector::bye(int rank) {
  if (core_.health.bye(rank)) forget(rank);
}

void failure_detector::forget(int rank) {
  rma_.forget(rank);
  packets_.forget(rank);
}

void failure_detector::set_endpoint_name(int rank, std::string_view name) {
  constexpr std::string_view of_shm = "fi_shm://";
  if (!base::StartsWith(name, of_shm)) return;
  // The name ends with a zero.
  shared_memory_[static_cast<size_t>(rank)] = base::StrCat("/", name.substr(of_shm.size()).data());
}

void failure_detector::remove_shared_memory(int rank) {
  const std::string& name = shared_memory_[static_cast<size_t>(rank)];
  if (!name.empty()) shm_unlink(name.c_str());
}

// Sends a packet to a rank whose process this host cannot see.
void failure_detector::probe(steady_clock::time_point now) {
  const auto pause = std::max(probe_interval / core_.ranks, device_core::check_interval);
  if (now - last_probe_ < pause) return;
  last_probe_ = now;
  for (int i = 0; i < core_.ranks; ++i) {
    const int rank = next_probe_;
    next_probe_ = rank + 1 == core_.ranks ? 0 : rank + 1;
    if (!processes_.is_elsewhere(rank) || !core_.is_alive_peer(rank)) continue;
    packets_.probe(rank);
    return;
  }
}

}  // namespace lci::net::ofi
