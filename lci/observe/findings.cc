// Finds in the reports of the ranks the cause that keeps the job from making progress.
#include "lci/observe/findings.h"

#include <algorithm>
#include <utility>

#include "lci/base/strings.h"
#include "lci/observe/phrases.h"

namespace lci::observe {

using base::StrAppend;
using base::StrCat;

const rank_report* analysis::find(int64_t rank) const {
  for (const rank_report& each : job_.ranks) {
    if (each.rank == rank) return &each;
  }
  return nullptr;
}

bool analysis::is_waited_for(int64_t rank) const {
  return std::any_of(waits_for_.begin(), waits_for_.end(),
                     [rank](const auto& each) { return each.second.count(rank) != 0; });
}

std::string analysis::state_of(int64_t rank) const {
  const rank_report* report = find(rank);
  if (report == nullptr) {
    for (const job_report::silent_rank& silent : job_.silent) {
      if (silent.rank == rank) return StrCat(" and ", silent.state);
    }
    return "";
  }
  if (report->waits.empty()) return " and waits in no call of the library";
  return StrCat(" and waits in ", describe(report->waits[0]));
}

const rank_report::wait* collective_of(const rank_report& rank) {
  for (const rank_report::wait& wait : rank.waits) {
    if (wait.collective != 0) return &wait;
  }
  return nullptr;
}

uint32_t seconds_without_progress(const rank_report& rank) {
  if (!rank.waits.empty() || rank.devices.empty()) return 0;
  uint32_t seconds = ~uint32_t{0};
  for (const rank_report::device& device : rank.devices) {
    seconds = std::min(seconds, device.seconds_unpolled);
  }
  return seconds;
}

std::string describe(const rank_report::wait& wait) {
  return StrCat(wait.call, wait.place.empty() ? "" : StrCat(" at ", wait.place));
}

namespace {

// Findings on failures, on waits for no message, and on ranks that wait for each other.
class other_findings {
 public:
  explicit other_findings(analysis* all) : all_(*all) {}

  void look_at_failures() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const int64_t failed : rank.failed) {
        if (all_.add_failed(failed)) {
          all_.add(StrCat("rank ", failed, " has failed, as rank ", rank.rank, " has noticed"));
        }
      }
    }
  }

  // Waits for what comes from no message: all those of ranks that nothing above has named, and those
  // for synchronizers that no post will signal.
  void look_at_other_waits() {
    for (const rank_report& rank : all_.job().ranks) {
      const bool has_receive = std::any_of(rank.messages.begin(), rank.messages.end(),
                                           [](const rank_report::message& m) {
                                             return m.what == rank_report::message::kind::receive;
                                           });
      const bool is_named =
          all_.waits_for().count(rank.rank) != 0 || collective_of(rank) != nullptr || has_receive;
      for (const rank_report::wait& wait : rank.waits) {
        if (is_named && !wait.no_post_signals) continue;
        all_.add(StrCat("rank ", rank.rank, " has waited ", since(wait.seconds), " in ",
                        describe(wait), count_of(wait, "; "),
                        wait.no_post_signals
                            ? ", and no pending post of this rank will signal it: has a "
                              "post answered done, which signals nothing?"
                            : "",
                        idleness_of(wait.peer)));
      }
    }
  }

  // Each cycle once, from its least rank.
  void look_for_cycles() {
    std::set<int64_t> done;
    for (const auto& [start, unused] : all_.waits_for()) {
      if (done.count(start) != 0) continue;
      std::vector<int64_t> path;
      if (!find_cycle(start, start, &path, &done)) continue;
      std::string text;
      for (const int64_t rank : path) {
        StrAppend(&text, rank, " -> ");
        done.insert(rank);
      }
      all_.add(StrCat("ranks wait for each other in a cycle: ", text, start));
    }
  }

  void look_at_silent() {
    for (const job_report::silent_rank& silent : all_.job().silent) {
      all_.add(StrCat("rank ", silent.rank, " ", silent.state));
    }
  }

 private:
  // Of the target of a put, for example, which may have to make progress. Empty if it does, or is
  // not known.
  std::string idleness_of(int64_t rank) const {
    const rank_report* const report = all_.find(rank);
    const uint32_t seconds = report == nullptr ? 0 : seconds_without_progress(*report);
    if (seconds < rank_report::device::min_unpolled) return "";
    return StrCat("; rank ", rank, " has made no progress on any device ", since(seconds));
  }

  // A path from `at` back to `start` over ranks that are not less, by depth first.
  bool find_cycle(int64_t start, int64_t at, std::vector<int64_t>* path, std::set<int64_t>* done) {
    path->push_back(at);
    if (const auto next = all_.waits_for().find(at); next != all_.waits_for().end()) {
      for (const int64_t to : next->second) {
        if (to == start) return true;
        if (to < start || done->count(to) != 0 ||
            std::find(path->begin(), path->end(), to) != path->end()) {
          continue;
        }
        if (find_cycle(start, to, path, done)) return true;
      }
    }
    path->pop_back();
    return false;
  }

  analysis& all_;
};

}  // namespace

std::vector<std::string> findings(const job_report& job) {
  analysis all(job);
  other_findings others(&all);
  others.look_at_failures();
  look_at_devices_of_peers(&all);
  look_at_collectives(&all);
  look_at_messages(&all);
  others.look_at_other_waits();
  others.look_for_cycles();
  look_at_devices(&all);
  others.look_at_silent();
  if (!all.has_found()) look_at_devices_last(&all);
  return all.take();
}

}  // namespace lci::observe
