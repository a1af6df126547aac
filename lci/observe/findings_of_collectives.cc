// Collective operations that some ranks have not called, or that wait for a rank.
#include "lci/observe/findings.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/observe/phrases.h"

namespace lci::observe {
namespace {

using base::StrAppend;
using base::StrCat;
using message = rank_report::message;
using kind = rank_report::message::kind;

// "ranks 0-2, 5 are", "rank 1 is"
std::string ranks_are(const std::vector<int>& ranks) {
  return StrCat(base::rank_list(ranks), ranks.size() == 1 ? " is" : " are");
}

class collectives {
 public:
  explicit collectives(analysis* all) : all_(*all) {}

  void run() {
    look_at_collectives();
    look_at_open_collectives();
  }

 private:
  void look_at_collectives() {
    // By number and kind, so that the earliest comes first.
    std::map<std::pair<uint64_t, std::string>, std::vector<int>> inside;
    std::vector<int> outside;
    uint32_t longest = 0;
    for (const rank_report& rank : all_.job().ranks) {
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
      all_.add(StrCat("the ranks are in different collective operations: ", text));
    } else if (!outside.empty() || !all_.job().silent.empty()) {
      all_.add(StrCat(text, " ", since(longest)));
    }
    const auto& [first, first_ranks] = *inside.begin();
    for (const int rank : outside) {
      const rank_report& report = *all_.find(rank);
      // It will come as soon as its operations are complete.
      if (ends_runtime(report, first)) continue;
      for (const int waiting : first_ranks) all_.add_edge(waiting, rank);
      if (!report.waits.empty()) {
        all_.add(StrCat("rank ", rank, " is not in ", first.second, " #", first.first,
                        ": it waits in ", describe(report.waits[0]), last_collective(report)));
      } else {
        all_.add(StrCat("rank ", rank, " is not in ", first.second, " #", first.first,
                        ", and waits in no call of the library", last_collective(report)));
      }
    }
    for (const job_report::silent_rank& silent : all_.job().silent) {
      for (const int waiting : first_ranks) all_.add_edge(waiting, silent.rank);
    }
    // Of two collectives the ranks in the later one have passed, or skipped, the earlier.
    if (inside.size() > 1) {
      const auto& later = std::next(inside.begin())->second;
      for (const int a : first_ranks) {
        for (const int b : later) all_.add_edge(a, b);
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
    all_.add(StrCat("rank ", rank.rank, " ends its runtime, and waits for ",
                    messages.empty() ? "its operations" : messages));
    return true;
  }

  // Those of groups, and those that were started with a completion object, by the messages that
  // they wait for.
  void look_at_open_collectives() {
    for (const rank_report& rank : all_.job().ranks) {
      const rank_report::wait* const inside = collective_of(rank);
      for (const message& receive : rank.messages) {
        if (receive.what != kind::receive || receive.collective == 0) continue;
        if (inside != nullptr && inside->collective == receive.collective) continue;
        all_.add_edge(rank.rank, receive.peer);
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
        all_.add(StrCat("rank ", rank.rank, " ", begun, ", which waits for rank ", receive.peer));
        // Of the peer, not of the operation.
        if (const std::string state = all_.state_of(receive.peer); !state.empty()) {
          all_.append(
              StrCat("; rank ", receive.peer, state.substr(std::string_view(" and").size())));
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

  analysis& all_;
};

}  // namespace

void look_at_collectives(analysis* all) { collectives(all).run(); }

}  // namespace lci::observe
