// Devices on which nobody makes progress, or that refuse posts, and queues that nobody empties.
#include "lci/observe/findings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/observe/phrases.h"

namespace lci::observe {
namespace {

using base::StrCat;
using arrivals = rank_report::device::arrivals;

constexpr uint32_t min_unpolled = rank_report::device::min_unpolled;

class devices {
 public:
  explicit devices(analysis* all) : all_(*all) {}

  // Devices on which operations of other ranks may wait, of a network that does not tell.
  void run_first() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::device& device : rank.devices) {
        const operations open = operations_of_peers(rank, device);
        if (open.count == 0) continue;
        all_.add(StrCat(unpolled(rank, device), ", which ", open.count,
                        open.count == 1 ? " operation of " : " operations of ",
                        base::rank_list(open.ranks), " may wait for"));
      }
    }
  }

  void run() {
    look_at_refusals();
    look_at_devices();
    look_at_backlogs();
    look_at_queues();
  }

  void run_last() {
    look_at_unpolled_devices();
    if (!all_.has_found()) look_at_refusals_with_progress();
    if (!all_.has_found()) look_at_ranks_without_progress();
  }

 private:
  // Operations that are not complete, and the ranks that have posted them.
  struct operations {
    uint64_t count = 0;
    std::vector<int> ranks;
  };

  static uint64_t open_operations(const rank_report::device& device) {
    return device.sends + device.puts_and_gets + device.atomics;
  }

  static bool polls_a_device(const rank_report& rank) {
    return std::any_of(rank.devices.begin(), rank.devices.end(),
                       [](const rank_report::device& each) { return !each.is_unpolled(); });
  }

  // The operations on the devices of this number that other ranks poll. None if somebody polls
  // `device`, the network knows whether messages wait there, or the rank makes no progress at all.
  operations operations_of_peers(const rank_report& rank, const rank_report::device& device) const {
    operations open;
    if (!device.is_unpolled() || device.messages != arrivals::unknown || !polls_a_device(rank)) {
      return open;
    }
    for (const rank_report& peer : all_.job().ranks) {
      if (peer.rank == rank.rank) continue;
      for (const rank_report::device& theirs : peer.devices) {
        if (theirs.number != device.number || theirs.is_unpolled()) continue;
        if (open_operations(theirs) == 0) continue;
        open.count += open_operations(theirs);
        open.ranks.push_back(static_cast<int>(peer.rank));
      }
    }
    return open;
  }

  // For how long posts on a device have been refused while nobody has polled it.
  static uint32_t refused_unpolled(const rank_report& rank, const rank_report::refusals& each) {
    for (const rank_report::device& device : rank.devices) {
      if (device.number == each.device) return std::min(each.seconds, device.seconds_unpolled);
    }
    return 0;
  }

  void look_at_refusals() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::refusals& each : rank.refused) {
        const uint32_t seconds = refused_unpolled(rank, each);
        if (seconds < min_unpolled) continue;
        all_.add(StrCat("rank ", rank.rank, ": ", refusals_of(each), " ", since(seconds),
                        ", and nobody has made progress on the device meanwhile"));
      }
    }
  }

  // Of a job with no other findings: a busy network refuses posts as well.
  void look_at_refusals_with_progress() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::refusals& each : rank.refused) {
        if (each.seconds < min_unpolled) continue;
        all_.add(StrCat("rank ", rank.rank, ": ", refusals_of(each), " ", since(each.seconds),
                        ", though the device is polled; others may have been accepted"));
      }
    }
  }

  void look_at_devices() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::device& device : rank.devices) {
        // A device that has nothing to do need not be polled.
        const bool may_have_arrivals = device.messages != arrivals::none;
        const uint64_t open = open_operations(device);
        const bool is_needed = device.messages == arrivals::some || device.backlog > 0 ||
                               device.transfers > 0 || open > 0 ||
                               (may_have_arrivals && all_.is_waited_for(rank.rank) &&
                                operations_of_peers(rank, device).count == 0);
        const bool is_named = std::any_of(
            rank.refused.begin(), rank.refused.end(), [&](const rank_report::refusals& each) {
              return each.device == device.number && refused_unpolled(rank, each) >= min_unpolled;
            });
        if (!is_needed || !device.is_unpolled() || is_named) continue;
        all_.add(StrCat(
            unpolled(rank, device),
            device.messages == arrivals::some ? ", and messages wait there" : "",
            device.backlog == 0
                ? std::string()
                : StrCat("; ", device.backlog, " operations wait to be posted again"),
            open == 0 ? std::string() : StrCat("; ", open, " operations there are not complete")));
      }
    }
  }

  // Of a job with no other findings: a network may not know whether messages wait.
  void look_at_unpolled_devices() {
    for (const rank_report& rank : all_.job().ranks) {
      if (!polls_a_device(rank)) continue;
      for (const rank_report::device& device : rank.devices) {
        if (!device.is_unpolled() || device.messages != arrivals::unknown) continue;
        all_.add(
            StrCat(unpolled(rank, device),
                   ", while another one is polled; its network can't tell whether messages wait "
                   "there"));
      }
    }
  }

  // Of a job with no other findings: a thread that never returns from a handler looks like one that
  // computes.
  void look_at_ranks_without_progress() {
    std::vector<int> idle;
    uint32_t least = ~uint32_t{0};
    for (const rank_report& rank : all_.job().ranks) {
      const uint32_t seconds = seconds_without_progress(rank);
      if (seconds < min_unpolled) continue;
      idle.push_back(static_cast<int>(rank.rank));
      least = std::min(least, seconds);
    }
    if (idle.empty()) return;
    all_.add(StrCat(
        base::rank_list(idle), idle.size() == 1 ? " has" : " have",
        " made no progress on any device ", since(least),
        ", and no thread waits in the library there: does a handler block, as on a lock that its "
        "thread holds already, or does the program compute?"));
  }

  static std::string unpolled(const rank_report& rank, const rank_report::device& device) {
    return StrCat("rank ", rank.rank, ": nobody has made progress on device ", device.number, " ",
                  since(device.seconds_unpolled));
  }

  // The operation of each device that has waited longest, if the device is polled.
  void look_at_backlogs() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::device& device : rank.devices) {
        const rank_report::backlogged* oldest = nullptr;
        for (const rank_report::backlogged& each : rank.waiting) {
          if (each.device != device.number || each.seconds < min_unpolled) continue;
          if (oldest == nullptr || each.seconds > oldest->seconds) oldest = &each;
        }
        if (oldest == nullptr || device.is_unpolled()) continue;
        all_.add(StrCat("rank ", rank.rank, ": the network has refused a ", name_of(*oldest),
                        " on device ", device.number, " ", since(oldest->seconds)));
      }
    }
  }

  void look_at_queues() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::queue& queue : rank.queues) {
        all_.add(StrCat("rank ", rank.rank, ": ", queue.statuses,
                        queue.statuses == 1 ? " status waits" : " statuses wait",
                        " in a completion queue",
                        queue.name.empty() ? std::string() : StrCat(" \"", queue.name, "\"")));
      }
    }
  }

  analysis& all_;
};

}  // namespace

void look_at_devices_of_peers(analysis* all) { devices(all).run_first(); }
void look_at_devices(analysis* all) { devices(all).run(); }
void look_at_devices_last(analysis* all) { devices(all).run_last(); }

}  // namespace lci::observe
