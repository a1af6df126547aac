// Looks for a schedule of a few threads under which a structure goes wrong.
#ifndef LCI_DS_CHECK_EXPLORE_H_
#define LCI_DS_CHECK_EXPLORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lci/ds/check/choices.h"

namespace lci::ds::check {

// What is run, made anew for each schedule. It must do the same under the same schedule: no clock,
// no address and no random number may decide anything.
class scenario {
 public:
  virtual ~scenario() = default;
  // At most max_threads.
  virtual size_t threads() const = 0;
  // What each does: `number` is 0 to threads() - 1. Uses structures with scheduled_atomics.
  virtual void run(size_t number) = 0;
  // After all have returned: empty, or what is wrong.
  virtual std::string finish() = 0;
};

struct exploration {
  // Runs that were made.
  size_t runs = 0;
  // All schedules within the bounds have been run.
  bool complete = false;
  // Empty if none went wrong. Else what did, in the first run that went wrong, and how to repeat it
  // with replay_choices.
  std::string failure;
  std::string schedule;
};

// Runs what make() gives under each schedule of `from`, until one goes wrong, or `most_runs` have
// been made. A run also goes wrong when it throws, when all its threads wait for ever, when it
// takes more than `most_steps` steps, and at a data race (Atomics::plain_read and plain_write).
exploration explore(const std::function<std::unique_ptr<scenario>()>& make, choices& from,
                    size_t most_runs, size_t most_steps = 10000);

}  // namespace lci::ds::check

#endif  // LCI_DS_CHECK_EXPLORE_H_
