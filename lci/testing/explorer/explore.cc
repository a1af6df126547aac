#include "lci/testing/explorer/explore.h"

#include <utility>
#include <vector>

#include "lci/testing/explorer/scheduler.h"

namespace lci::ds::explorer {

namespace {

// After a failure the structure may be in any state. Threads are still in the middle of operations,
// for which its destructor might wait.
void keep(std::unique_ptr<scenario> failed) {
  static auto& kept = *new std::vector<std::unique_ptr<scenario>>;
  kept.push_back(std::move(failed));
}

}  // namespace

exploration explore(const std::function<std::unique_ptr<scenario>()>& make, choices& from,
                    size_t most_runs, size_t most_steps) {
  exploration result;
  while (result.runs < most_runs) {
    if (!from.next_run()) {
      result.complete = true;
      break;
    }
    ++result.runs;
    scheduler run(from, most_steps);
    std::unique_ptr<scenario> tested = make();
    std::vector<std::function<void()>> bodies;
    for (size_t i = 0; i < tested->threads(); ++i)
      bodies.push_back([&tested, i] { tested->run(i); });
    run.run(bodies);
    result.failure = run.failure();
    if (!result.failure.empty()) {
      keep(std::move(tested));
    } else {
      result.failure = tested->finish();
    }
    if (result.failure.empty()) continue;
    result.schedule = from.schedule();
    break;
  }
  return result;
}

}  // namespace lci::ds::explorer
