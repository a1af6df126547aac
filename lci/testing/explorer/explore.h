// Searches for a schedule of a few threads under which a structure fails.
#ifndef LCI_TESTING_EXPLORER_EXPLORE_H_
#define LCI_TESTING_EXPLORER_EXPLORE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "lci/testing/explorer/choices.h"

namespace lci::ds::explorer {

// A test program, made anew for each schedule. It must behave identically under the same schedule:
// no clock, address or random number may decide anything.
class scenario {
 public:
  virtual ~scenario() = default;
  // At most max_threads.
  virtual size_t threads() const = 0;
  // Body of thread `number`, 0 to threads() - 1. Uses structures with scheduled_atomics.
  virtual void run(size_t number) = 0;
  // Called after all threads have returned. Returns an empty string, or a description of the error.
  virtual std::string finish() = 0;
};

struct exploration {
  // Number of runs.
  size_t runs = 0;
  // All schedules within the bounds have been run.
  bool complete = false;
  // The error of the first run that failed, and how to repeat that run with replay_choices. Empty
  // if no run failed.
  std::string failure;
  std::string schedule;
};

// Runs the scenario that make() returns under each schedule of `from`, until a run fails or
// `most_runs` runs are done. A run also fails when it throws, when all its threads wait for ever,
// when it takes more than `most_steps` steps, and at a data race (Atomics::plain_read and
// plain_write).
exploration explore(const std::function<std::unique_ptr<scenario>()>& make, choices& from,
                    size_t most_runs, size_t most_steps = 10000);

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_EXPLORER_EXPLORE_H_
