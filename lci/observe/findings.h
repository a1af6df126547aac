// How the causes of a hang are found in the reports of the ranks: for job_report.h, which gives them
// to callers.
#ifndef LCI_OBSERVE_FINDINGS_H_
#define LCI_OBSERVE_FINDINGS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lci/observe/job_report.h"

namespace lci::observe {

// A job, what has been found about it so far, and which ranks wait for which.
class analysis {
 public:
  // `job` outlives the analysis.
  explicit analysis(const job_report& job) : job_(job) {}

  const job_report& job() const { return job_; }
  // Null if that rank has not reported.
  const rank_report* find(int64_t rank) const;
  // The state of a rank, as the end of a sentence about it; empty if nothing is known.
  std::string state_of(int64_t rank) const;

  void add(std::string sentence) { found_.push_back(std::move(sentence)); }
  // To the last sentence.
  void append(const std::string& words) { found_.back() += words; }
  bool has_found() const { return !found_.empty(); }
  std::vector<std::string> take() { return std::move(found_); }

  // False if that is known.
  bool add_failed(int64_t rank) { return failed_.insert(rank).second; }
  bool has_failed(int64_t rank) const { return failed_.count(rank) != 0; }

  // Rank `from` cannot continue before rank `to` acts.
  void add_edge(int64_t from, int64_t to) {
    if (to >= 0 && from != to) waits_for_[from].insert(to);
  }
  const std::map<int64_t, std::set<int64_t>>& waits_for() const { return waits_for_; }
  bool is_waited_for(int64_t rank) const;

 private:
  const job_report& job_;
  std::vector<std::string> found_;
  std::set<int64_t> failed_;
  std::map<int64_t, std::set<int64_t>> waits_for_;
};

// The collective operation that a rank is in: the first that a thread waits in; null if none does.
const rank_report::wait* collective_of(const rank_report& rank);
// For how long a rank that waits in no call has polled none of its devices; 0 if it has none.
uint32_t seconds_without_progress(const rank_report& rank);
// The call of a wait, and its place.
std::string describe(const rank_report::wait& wait);

// Each adds what it finds, and the edges that follow from it.
void look_at_collectives(analysis* all);  // findings_of_collectives.cc
void look_at_messages(analysis* all);     // findings_of_messages.cc
void look_at_devices(analysis* all);      // findings_of_devices.cc
// Devices that a rank does not poll, though other ranks have operations there: a cause of waits that
// other findings describe.
void look_at_devices_of_peers(analysis* all);
// What a healthy job may show as well: for one of which nothing else was found.
void look_at_devices_last(analysis* all);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_FINDINGS_H_
