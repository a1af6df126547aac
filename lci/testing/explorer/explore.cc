#include "lci/testing/explorer/explore.h"

#include <vector>

#include "lci/testing/explorer/scheduler.h"

namespace lci::ds::explorer {

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
    const std::unique_ptr<scenario> tested = make();
    std::vector<std::function<void()>> bodies;
    for (size_t i = 0; i < tested->threads(); ++i)
      bodies.push_back([&tested, i] { tested->run(i); });
    run.run(bodies);
    result.failure = run.failure();
    // After a failure the structure may be in any state.
    if (result.failure.empty()) result.failure = tested->finish();
    if (result.failure.empty()) continue;
    result.schedule = from.schedule();
    break;
  }
  return result;
}

}  // namespace lci::ds::explorer
