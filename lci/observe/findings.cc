// Finds in the reports of the ranks the cause that keeps the job from making progress.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/observe/job_report.h"
#include "lci/observe/phrases.h"

namespace lci::observe {
namespace {

using base::StrAppend;
using base::StrCat;
using message = rank_report::message;
using kind = rank_report::message::kind;

constexpr uint32_t min_unpolled = rank_report::device::min_unpolled;
using arrivals = rank_report::device::arrivals;

const rank_report* find(const job_report& job, int64_t rank) {
  for (const rank_report& each : job.ranks) {
    if (each.rank == rank) return &each;
  }
  return nullptr;
}

// "ranks 0-2, 5 are", "rank 1 is"
std::string ranks_are(const std::vector<int>& ranks) {
  return StrCat(base::rank_list(ranks), ranks.size() == 1 ? " is" : " are");
}

class analysis {
 public:
  explicit analysis(const job_report& job) : job_(job) {}

  std::vector<std::string> run() {
    look_at_failures();
    look_at_collectives();
    look_at_open_collectives();
    look_at_receives();
    look_at_arrivals();
    look_at_transfers();
    look_at_other_waits();
    look_for_cycles();
    look_at_refusals();
    look_at_devices();
    look_at_backlogs();
    look_at_queues();
    look_at_silent();
    if (found_.empty()) look_at_unpolled_devices();
    if (found_.empty()) look_at_refusals_with_progress();
    if (found_.empty()) look_at_ranks_without_progress();
    return std::move(found_);
  }

 private:
  void add(std::string sentence) { found_.push_back(std::move(sentence)); }
  // Rank `from` cannot continue before rank `to` acts.
  void add_edge(int64_t from, int64_t to) {
    if (to >= 0 && from != to) waits_for_[from].insert(to);
  }

  void look_at_failures() {
    for (const rank_report& rank : job_.ranks) {
      for (const int64_t failed : rank.failed) {
        if (known_failed_.insert(failed).second) {
          add(StrCat("rank ", failed, " has failed, as rank ", rank.rank, " has noticed"));
        }
      }
    }
  }

  // The collective that a rank is in: the first that a thread waits in.
  static const rank_report::wait* collective_of(const rank_report& rank) {
    for (const rank_report::wait& wait : rank.waits) {
      if (wait.collective != 0) return &wait;
    }
    return nullptr;
  }

  void look_at_collectives() {
    // By number and kind, so that the earliest comes first.
    std::map<std::pair<uint64_t, std::string>, std::vector<int>> inside;
    std::vector<int> outside;
    uint32_t longest = 0;
    for (const rank_report& rank : job_.ranks) {
      if (const rank_report::wait* wait = collective_of(rank); wait != nullptr) {
        inside[{wait->collective, wait->call}].push_back(static_cast<int>(rank.rank));
        longest = std::max(longest, wait->seconds);
      } else {
        outside.push_back(static_cast<int>(rank.rank));
      }
    }
    if (inside.empty()) return;
    std::string text;
    for (const auto& [which, ranks] : inside) {
      StrAppend(&text, text.empty() ? ranks_are(ranks) : StrCat(", ", base::rank_list(ranks)),
                " in ", which.second, " #", which.first);
    }
    if (inside.size() > 1) {
      add(StrCat("the ranks are in different collective operations: ", text));
    } else if (!outside.empty() || !job_.silent.empty()) {
      add(StrCat(text, " ", since(longest)));
    }
    const auto& [first, first_ranks] = *inside.begin();
    for (const int rank : outside) {
      const rank_report& report = *find(job_, rank);
      // It will come as soon as its operations are complete.
      if (ends_runtime(report, first)) continue;
      for (const int waiting : first_ranks) add_edge(waiting, rank);
      if (!report.waits.empty()) {
        add(StrCat("rank ", rank, " is not in ", first.second, " #", first.first, ": it waits in ",
                   describe(report.waits[0]), last_collective(report)));
      } else {
        add(StrCat("rank ", rank, " is not in ", first.second, " #", first.first,
                   ", and waits in no call of the library", last_collective(report)));
      }
    }
    for (const job_report::silent_rank& silent : job_.silent) {
      for (const int waiting : first_ranks) add_edge(waiting, silent.rank);
    }
    // Of two collectives the ranks in the later one have passed, or skipped, the earlier.
    if (inside.size() > 1) {
      const auto& later = std::next(inside.begin())->second;
      for (const int a : first_ranks) {
        for (const int b : later) add_edge(a, b);
      }
    }
  }

  // Whether a rank that is not in the collective operation is about to call it in free_runtime; then
  // says what it waits for.
  bool ends_runtime(const rank_report& rank, const std::pair<uint64_t, std::string>& operation) {
    const auto ends = [&](const rank_report::wait& each) {
      return each.call == "free_runtime" && each.call == operation.second;
    };
    if (std::none_of(rank.waits.begin(), rank.waits.end(), ends)) return false;
    std::string messages;
    for (const rank_report::transfer& each : rank.transfers) {
      if (!each.outgoing || each.collective) continue;
      StrAppend(&messages, messages.empty() ? "" : ", ", "its message of ", bytes(each.size),
                " with tag ", each.tag, " to rank ", each.peer);
    }
    add(StrCat("rank ", rank.rank, " ends its runtime, and waits for ",
               messages.empty() ? "its operations" : messages));
    return true;
  }

  // Those of groups, and those that were started with a completion object, by the messages that
  // they wait for.
  void look_at_open_collectives() {
    for (const rank_report& rank : job_.ranks) {
      const rank_report::wait* const inside = collective_of(rank);
      for (const message& receive : rank.messages) {
        if (receive.what != kind::receive || receive.collective == 0) continue;
        if (inside != nullptr && inside->collective == receive.collective) continue;
        add_edge(rank.rank, receive.peer);
        std::string name = "a collective operation";
        for (const rank_report::collectives& each : rank.engines) {
          if (each.engine == receive.engine && each.last == receive.collective) {
            name = each.last_kind;
          }
        }
        const auto wait = std::find_if(
            rank.waits.begin(), rank.waits.end(),
            [&name](const rank_report::wait& each) { return each.call == name + " of a group"; });
        const std::string begun =
            wait == rank.waits.end()
                ? StrCat("has begun ", name, " #", receive.collective)
                : StrCat("has waited ", since(wait->seconds), " in ", describe(*wait));
        add(StrCat("rank ", rank.rank, " ", begun, ", which waits for rank ", receive.peer));
        // Of the peer, not of the operation.
        if (const std::string state = state_of(receive.peer); !state.empty()) {
          StrAppend(&found_.back(), "; rank ", receive.peer,
                    state.substr(std::string_view(" and").size()));
        }
      }
    }
  }

  static std::string last_collective(const rank_report& rank) {
    for (const rank_report::collectives& each : rank.engines) {
      if (each.last > 0) return StrCat("; its last one was ", each.last_kind, " #", each.last);
    }
    return "; it has begun none yet";
  }

  static std::string describe(const rank_report::wait& wait) {
    return StrCat(wait.call, wait.place.empty() ? "" : StrCat(" at ", wait.place));
  }

  static std::string policies(const message& receive, const message& sent) {
    return StrCat("another matching policy (receive: ", receive.policy, ", message: ", sent.policy,
                  ")");
  }

  static bool fits(const message& receive, const message& sent) {
    return receive.engine == sent.engine && (receive.any_tag || receive.tag == sent.tag);
  }

  void look_at_receives() {
    for (const rank_report& rank : job_.ranks) {
      for (const message& receive : rank.messages) {
        if (receive.what == kind::receive && receive.collective == 0) {
          look_at_receive(rank, receive);
        }
      }
    }
  }

  void look_at_receive(const rank_report& rank, const message& receive) {
    const std::string who = StrCat("rank ", rank.rank, " has waited ", since(receive.seconds),
                                   " for a message with ", tag_of(receive), " from ");
    if (receive.peer < 0) {
      std::string others;
      for (const message& sent : rank.messages) {
        if (sent.what != kind::receive && sent.collective == 0) {
          StrAppend(&others, others.empty() ? "" : ", ", tag_of(sent), " from rank ", sent.peer,
                    fits(receive, sent) ? StrCat(" with ", policies(receive, sent)) : "");
        }
      }
      add(StrCat(who, "any rank", others.empty() ? "; none has arrived" : "; it has got ", others));
      return;
    }
    if (is_announced(rank.rank, receive)) return;  // the transfer says more
    add_edge(rank.rank, receive.peer);
    std::string instead;
    for (const message& sent : rank.messages) {
      if (sent.what == kind::receive || sent.collective != 0 || sent.peer != receive.peer) {
        continue;
      }
      StrAppend(&instead, instead.empty() ? "" : ", ", tag_of(sent), " (", bytes(sent.size),
                sent.engine == receive.engine ? "" : ", another matching engine",
                fits(receive, sent) ? StrCat(", ", policies(receive, sent)) : "", ")");
    }
    if (!instead.empty()) {
      add(StrCat(who, "rank ", receive.peer, ", which has sent ", instead, " instead, unmatched"));
    } else if (known_failed_.count(receive.peer) != 0) {
      add(StrCat(who, "rank ", receive.peer, ", which has failed"));
    } else {
      add(StrCat(who, "rank ", receive.peer, ", which has sent none that is unmatched",
                 state_of(receive.peer)));
    }
  }

  // Whether the sender has announced such a message, which the rank has not read yet.
  bool is_announced(int64_t rank, const message& receive) const {
    const rank_report* const peer = find(job_, receive.peer);
    return peer != nullptr && std::any_of(peer->transfers.begin(), peer->transfers.end(),
                                          [&](const rank_report::transfer& each) {
                                            return each.outgoing && !each.collective &&
                                                   each.peer == rank &&
                                                   (receive.any_tag || each.tag == receive.tag);
                                          });
  }

  // The state of a peer, as the end of a sentence.
  std::string state_of(int64_t rank) const {
    const rank_report* report = find(job_, rank);
    if (report == nullptr) {
      for (const job_report::silent_rank& silent : job_.silent) {
        if (silent.rank == rank) return StrCat(" and ", silent.state);
      }
      return "";
    }
    if (report->waits.empty()) return " and waits in no call of the library";
    return StrCat(" and waits in ", describe(report->waits[0]));
  }

  void look_at_arrivals() {
    for (const rank_report& rank : job_.ranks) {
      for (const message& sent : rank.messages) {
        if (sent.what == kind::receive || sent.collective != 0) continue;
        const bool named = std::any_of(
            rank.messages.begin(), rank.messages.end(), [&sent](const message& receive) {
              return receive.what == kind::receive && receive.collective == 0 &&
                     (receive.peer < 0 || receive.peer == sent.peer);
            });
        if (named) continue;  // with the receive
        if (sent.what == kind::announced) add_edge(sent.peer, rank.rank);
        add(StrCat("rank ", rank.rank, " has no receive for ", sent.count,
                   sent.count == 1 ? " message" : " messages", " with ", tag_of(sent), " (",
                   bytes(sent.size), ") from rank ", sent.peer, ", there ", since(sent.seconds)));
      }
    }
  }

  void look_at_transfers() {
    for (const rank_report& rank : job_.ranks) {
      for (const rank_report::transfer& each : rank.transfers) {
        if (each.collective) continue;  // reported for the collective
        if (each.outgoing) add_edge(rank.rank, each.peer);
        const rank_report* peer = find(job_, each.peer);
        // The receiver's side says more.
        const bool is_announced =
            peer != nullptr &&
            std::any_of(peer->messages.begin(), peer->messages.end(), [&](const message& m) {
              return m.what == kind::announced && m.peer == rank.rank;
            });
        if (is_announced || !each.outgoing) continue;
        add(StrCat("rank ", rank.rank, " has announced a message of ", bytes(each.size),
                   " with tag ", each.tag, " to rank ", each.peer, ", which has not taken it",
                   state_of(each.peer)));
      }
    }
  }

  // Waits for what comes from no message: all those of ranks that nothing above has named, and those
  // for synchronizers that no post will signal.
  void look_at_other_waits() {
    for (const rank_report& rank : job_.ranks) {
      const bool has_receive =
          std::any_of(rank.messages.begin(), rank.messages.end(),
                      [](const message& m) { return m.what == kind::receive; });
      const bool is_named =
          waits_for_.count(rank.rank) != 0 || collective_of(rank) != nullptr || has_receive;
      for (const rank_report::wait& wait : rank.waits) {
        if (is_named && !wait.no_post_signals) continue;
        add(StrCat("rank ", rank.rank, " has waited ", since(wait.seconds), " in ", describe(wait),
                   count_of(wait, "; "),
                   wait.no_post_signals
                       ? ", and no pending post of this rank will signal it: has a "
                         "post answered done, which signals nothing?"
                       : ""));
      }
    }
  }

  // Each cycle once, from its least rank.
  void look_for_cycles() {
    std::set<int64_t> done;
    for (const auto& [start, unused] : waits_for_) {
      if (done.count(start) != 0) continue;
      std::vector<int64_t> path;
      if (!find_cycle(start, start, &path, &done)) continue;
      std::string text;
      for (const int64_t rank : path) {
        StrAppend(&text, rank, " -> ");
        done.insert(rank);
      }
      add(StrCat("ranks wait for each other in a cycle: ", text, start));
    }
  }

  // A path from `at` back to `start` over ranks that are not less, by depth first.
  bool find_cycle(int64_t start, int64_t at, std::vector<int64_t>* path, std::set<int64_t>* done) {
    path->push_back(at);
    if (const auto next = waits_for_.find(at); next != waits_for_.end()) {
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

  // For how long posts on a device have been refused while nobody has polled it.
  static uint32_t refused_unpolled(const rank_report& rank, const rank_report::refusals& each) {
    for (const rank_report::device& device : rank.devices) {
      if (device.number == each.device) return std::min(each.seconds, device.seconds_unpolled);
    }
    return 0;
  }

  void look_at_refusals() {
    for (const rank_report& rank : job_.ranks) {
      for (const rank_report::refusals& each : rank.refused) {
        const uint32_t seconds = refused_unpolled(rank, each);
        if (seconds < min_unpolled) continue;
        add(StrCat("rank ", rank.rank, ": ", refusals_of(each), " ", since(seconds),
                   ", and nobody has made progress on the device meanwhile"));
      }
    }
  }

  // Of a job with no other findings: a busy network refuses posts as well.
  void look_at_refusals_with_progress() {
    for (const rank_report& rank : job_.ranks) {
      for (const rank_report::refusals& each : rank.refused) {
        if (each.seconds < min_unpolled) continue;
        add(StrCat("rank ", rank.rank, ": ", refusals_of(each), " ", since(each.seconds),
                   ", though the device is polled; others may have been accepted"));
      }
    }
  }

  void look_at_devices() {
    for (const rank_report& rank : job_.ranks) {
      for (const rank_report::device& device : rank.devices) {
        // A device that has nothing to do need not be polled.
        const bool may_have_arrivals = device.messages != arrivals::none;
        const bool is_needed = device.messages == arrivals::some || device.backlog > 0 ||
                               device.transfers > 0 ||
                               (may_have_arrivals && is_waited_for(rank.rank));
        const bool is_named = std::any_of(
            rank.refused.begin(), rank.refused.end(), [&](const rank_report::refusals& each) {
              return each.device == device.number && refused_unpolled(rank, each) >= min_unpolled;
            });
        if (!is_needed || !device.is_unpolled() || is_named) continue;
        add(StrCat(unpolled(rank, device),
                   device.messages == arrivals::some ? ", and messages wait there" : "",
                   device.backlog == 0
                       ? std::string()
                       : StrCat("; ", device.backlog, " operations wait to be posted again")));
      }
    }
  }

  // Of a job with no other findings: a network may not know whether messages wait.
  void look_at_unpolled_devices() {
    for (const rank_report& rank : job_.ranks) {
      const bool is_polled =
          std::any_of(rank.devices.begin(), rank.devices.end(),
                      [](const rank_report::device& each) { return !each.is_unpolled(); });
      for (const rank_report::device& device : rank.devices) {
        if (!is_polled || !device.is_unpolled() || device.messages != arrivals::unknown) continue;
        add(StrCat(unpolled(rank, device),
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
    for (const rank_report& rank : job_.ranks) {
      uint32_t seconds = rank.waits.empty() && !rank.devices.empty() ? ~uint32_t{0} : 0;
      for (const rank_report::device& device : rank.devices) {
        seconds = std::min(seconds, device.seconds_unpolled);
      }
      if (seconds < min_unpolled) continue;
      idle.push_back(static_cast<int>(rank.rank));
      least = std::min(least, seconds);
    }
    if (idle.empty()) return;
    add(StrCat(
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
    for (const rank_report& rank : job_.ranks) {
      for (const rank_report::device& device : rank.devices) {
        const rank_report::backlogged* oldest = nullptr;
        for (const rank_report::backlogged& each : rank.waiting) {
          if (each.device != device.number || each.seconds < min_unpolled) continue;
          if (oldest == nullptr || each.seconds > oldest->seconds) oldest = &each;
        }
        if (oldest == nullptr || device.is_unpolled()) continue;
        add(StrCat("rank ", rank.rank, ": the network has refused a ", name_of(*oldest),
                   " on device ", device.number, " ", since(oldest->seconds)));
      }
    }
  }

  bool is_waited_for(int64_t rank) const {
    return std::any_of(waits_for_.begin(), waits_for_.end(),
                       [rank](const auto& each) { return each.second.count(rank) != 0; });
  }

  void look_at_queues() {
    for (const rank_report& rank : job_.ranks) {
      for (const rank_report::queue& queue : rank.queues) {
        add(StrCat("rank ", rank.rank, ": ", queue.statuses,
                   queue.statuses == 1 ? " status waits" : " statuses wait",
                   " in a completion queue",
                   queue.name.empty() ? std::string() : StrCat(" \"", queue.name, "\"")));
      }
    }
  }

  void look_at_silent() {
    for (const job_report::silent_rank& silent : job_.silent) {
      add(StrCat("rank ", silent.rank, " ", silent.state));
    }
  }

  const job_report& job_;
  std::vector<std::string> found_;
  std::set<int64_t> known_failed_;
  std::map<int64_t, std::set<int64_t>> waits_for_;
};
}  // namespace

std::vector<std::string> findings(const job_report& job) { return analysis(job).run(); }

}  // namespace lci::observe
