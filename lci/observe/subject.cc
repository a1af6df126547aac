#include "lci/observe/subject.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace lci::observe {
namespace {

struct registry {
  std::mutex mutex;
  std::vector<subject*> listed;  // guarded by mutex
};

// Never destroyed: threads may end, and objects be freed, after main.
registry& all() {
  static registry* const of_process = new registry;
  return *of_process;
}

}  // namespace

registration::registration(subject* listed) : listed_(listed) {
  const std::lock_guard<std::mutex> guard(all().mutex);
  all().listed.push_back(listed);
}

registration::~registration() {
  const std::lock_guard<std::mutex> guard(all().mutex);
  std::vector<subject*>& listed = all().listed;
  // What was made last mostly ends first.
  const auto found = std::find(listed.rbegin(), listed.rend(), listed_);
  listed.erase(std::next(found).base());
}

void describe_all(rank_report* report) {
  const std::lock_guard<std::mutex> guard(all().mutex);
  for (subject* each : all().listed) each->describe(report);
}

void tick_all() {
  const std::lock_guard<std::mutex> guard(all().mutex);
  for (subject* each : all().listed) each->tick();
}

void add_message(rank_report* report, const rank_report::message& added) {
  for (rank_report::message& known : report->messages) {
    if (known.what != added.what || known.engine != added.engine ||
        known.collective != added.collective || known.peer != added.peer ||
        known.any_tag != added.any_tag || known.tag != added.tag) {
      continue;
    }
    known.count += added.count;
    known.seconds = std::max(known.seconds, added.seconds);
    return;
  }
  add_entry(report, &report->messages, added);
}

}  // namespace lci::observe
