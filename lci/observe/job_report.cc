#include "lci/observe/job_report.h"

#include <string_view>

#include "lci/base/strings.h"
#include "lci/observe/phrases.h"

namespace lci::observe {
namespace {

using base::StrAppend;
using base::StrCat;
using kind = rank_report::message::kind;

constexpr std::string_view usual_policy = "rank_tag";

void append_count(uint64_t count, const char* what, std::string* to) {
  if (count > 0) StrAppend(to, ", ", count, " ", what);
}

void append_rank(const rank_report& rank, std::string* to) {
  StrAppend(to, "  rank ", rank.rank, " (process ", rank.pid, " on ", rank.host, ", ", rank.program,
            "):\n");
  for (const rank_report::wait& wait : rank.waits) {
    StrAppend(to, "    thread ", wait.thread, " has waited ", since(wait.seconds), " in ",
              wait.call);
    if (wait.collective != 0) StrAppend(to, " #", wait.collective);
    if (wait.peer >= 0) StrAppend(to, ", for rank ", wait.peer);
    if (wait.of_message) StrAppend(to, " (tag ", wait.tag, ", ", bytes(wait.size), ")");
    *to += count_of(wait, ", ");
    if (!wait.place.empty()) StrAppend(to, ", called at ", wait.place);
    *to += '\n';
  }
  if (rank.waits.empty()) *to += "    no thread waits in a call of the library\n";
  for (const rank_report::message& each : rank.messages) {
    const char* const what = each.what == kind::receive   ? "receive without a message: "
                             : each.what == kind::arrived ? "message without a receive: "
                                                          : "announced message without a receive: ";
    if (each.collective != 0) {
      StrAppend(to, "    ", what, "of collective operation #", each.collective, ", rank ",
                each.peer, "\n");
      continue;
    }
    StrAppend(to, "    ", what,
              each.peer < 0 ? std::string("any rank") : StrCat("rank ", each.peer), ", ",
              tag_of(each), ", ", bytes(each.size), ", ", each.count, " of them, the oldest ",
              since(each.seconds),
              each.policy == usual_policy ? "" : StrCat(", matching policy ", each.policy), "\n");
  }
  for (const rank_report::transfer& each : rank.transfers) {
    StrAppend(
        to, "    large message ", each.outgoing ? "to" : "from", " rank ", each.peer, ", ",
        bytes(each.size), ", tag ", each.tag, each.collective ? " (of a collective)" : "",
        each.outgoing ? ", announced and not answered" : ", answered, and its bytes are to come",
        ", on device ", each.device, "\n");
  }
  for (const rank_report::device& each : rank.devices) {
    StrAppend(to, "    device ", each.number, ": ", each.polls, " polls, the last ",
              each.seconds_unpolled, " s ago; ", each.packets_out, " of ", each.packets,
              " packets out, ", each.backlog, " operations in the backlog, ", each.transfers,
              " large messages under way");
    append_count(each.sends, "other sends", to);
    append_count(each.puts_and_gets, "puts and gets", to);
    append_count(each.atomics, "atomic operations", to);
    *to += '\n';
    for (const rank_report::backlogged& one : rank.waiting) {
      if (one.device != each.number) continue;
      StrAppend(to, "      in the backlog ", since(one.seconds), ": ", name_of(one), "\n");
    }
  }
  for (const rank_report::refusals& each : rank.refused) {
    StrAppend(to, "    ", refusals_of(each), " ", since(each.seconds), "\n");
  }
  for (const rank_report::queue& each : rank.queues) {
    StrAppend(to, "    completion queue", each.name.empty() ? "" : " ", each.name, ": ",
              each.statuses, " statuses that nobody has popped\n");
  }
  if (rank.left_out > 0) StrAppend(to, "    and ", rank.left_out, " more\n");
}
}  // namespace

std::string to_text(const job_report& job) {
  std::string text = StrCat("state of the job (", job.reason, "): ", job.ranks.size(), " of ",
                            job.size, job.size == 1 ? " rank" : " ranks", " answered\n");
  const std::vector<std::string> sentences = findings(job);
  for (const std::string& each : sentences) StrAppend(&text, "  * ", each, "\n");
  if (sentences.empty()) text += "  * nothing waits\n";
  for (const rank_report& rank : job.ranks) append_rank(rank, &text);
  return text;
}

std::string to_json(const job_report& job) {
  std::string text = StrCat("{\"reason\": ", base::JsonQuote(job.reason), ", \"size\": ", job.size);
  const auto add_list = [&text](const char* name, const auto& list, const auto& one) {
    StrAppend(&text, ", \"", name, "\": [");
    bool first = true;
    for (const auto& each : list) {
      StrAppend(&text, first ? "" : ", ", one(each));
      first = false;
    }
    text += ']';
  };
  add_list("findings", findings(job), [](const std::string& s) { return base::JsonQuote(s); });
  add_list("ranks", job.ranks, [](const rank_report& rank) { return to_json(rank); });
  add_list("silent", job.silent, [](const job_report::silent_rank& silent) {
    return StrCat("{\"rank\": ", silent.rank, ", \"state\": ", base::JsonQuote(silent.state), "}");
  });
  return text + "}";
}

}  // namespace lci::observe
