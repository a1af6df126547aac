#include "lci/observe/subject.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "lci/observe/rank_scope.h"

namespace lci::observe {
namespace {

struct entry {
  subject* listed;
  int rank;
};

// Initialized at compile time. ThreadSanitizer reports a race of a static variable that the first
// call initializes, where the program is compiled with it and the library is not.
std::mutex mutex;
std::vector<entry>* guarded_entries = nullptr;

// Call with the mutex. Never destroyed: threads may end, and objects be freed, after main.
std::vector<entry>& all() {
  if (guarded_entries == nullptr) guarded_entries = new std::vector<entry>;
  return *guarded_entries;
}

template <class F>
void for_each_of_rank(const F& visit) {
  const std::lock_guard<std::mutex> guard(mutex);
  for (const entry& each : all()) {
    if (each.rank == rank_of_this_thread()) visit(*each.listed);
  }
}

}  // namespace

registration::registration(subject* listed) : listed_(listed) {
  const std::lock_guard<std::mutex> guard(mutex);
  all().push_back({listed, rank_of_this_thread()});
}

registration::~registration() {
  const std::lock_guard<std::mutex> guard(mutex);
  std::vector<entry>& entries = all();
  // The newest entry usually ends first.
  const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                  [this](const entry& each) { return each.listed == listed_; });
  entries.erase(std::next(found).base());
}

void describe_all(rank_report* report) {
  for_each_of_rank([report](subject& each) { each.describe(report); });
  for (rank_report::wait& wait : report->waits) {
    wait.no_post_signals = wait.threshold > 0 && !report->has_unknown_objects &&
                           report->named_objects.count(wait.object) == 0;
  }
}

void tick_all() {
  for_each_of_rank([](subject& each) { each.tick(); });
}

std::optional<rank_report::wait> overdue_wait(std::chrono::milliseconds patience) {
  std::optional<rank_report::wait> found;
  for_each_of_rank([&](subject& each) {
    if (!found) found = each.overdue(patience);
  });
  return found;
}

void add_message(rank_report* report, const rank_report::message& added) {
  for (rank_report::message& known : report->messages) {
    if (known.what != added.what || known.engine != added.engine ||
        known.collective != added.collective || known.peer != added.peer ||
        known.any_tag != added.any_tag || known.tag != added.tag || known.policy != added.policy) {
      continue;
    }
    known.count += added.count;
    known.seconds = std::max(known.seconds, added.seconds);
    return;
  }
  add_entry(report, &report->messages, added);
}

}  // namespace lci::observe
