// Finds out what a job waits for, from the reports of its ranks.
#ifndef LCI_OBSERVE_JOB_REPORT_H_
#define LCI_OBSERVE_JOB_REPORT_H_

#include <string>
#include <vector>

#include "lci/base/strings.h"
#include "lci/observe/rank_report.h"

namespace lci::observe {

struct job_report {
  // A rank that has not answered.
  struct silent_rank {
    int64_t rank = 0;
    std::string state;  // "is stopped", "has ended", ...
  };

  std::string reason;               // why the job was asked
  int64_t size = 0;                 // ranks of the job
  std::vector<rank_report> ranks;   // those that have answered, ascending
  std::vector<silent_rank> silent;  // the others, ascending
};

// The most likely errors, a sentence each, the likeliest first: collective operations that do
// not fit together, ranks that are in none while others are, receives whose sender has sent
// something else or nothing, messages that nobody receives, large messages that the receiver has
// not taken, cycles of ranks that wait for each other, devices that nobody polls, ranks that do not
// answer. Empty: nothing waits.
std::vector<std::string> findings(const job_report& job);

// For people: the reason, the findings, and the state of each rank; several lines.
std::string to_text(const job_report& job);

// For tools: one JSON object with the members reason, size, findings, ranks, silent.
std::string to_json(const job_report& job);

// The key of a query, which a rank or the launcher puts; its value says why. All ranks watch for
// it, and put their reports (rank_report.h) as answers. Queries are numbered from 0.
inline std::string query_key(int query) { return base::StrCat("observe/", query); }
inline std::string answer_key(int query, int rank) {
  return base::StrCat("observe/", query, "/", rank);
}

}  // namespace lci::observe

#endif  // LCI_OBSERVE_JOB_REPORT_H_
