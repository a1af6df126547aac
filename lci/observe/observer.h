// The thread that answers for a rank when its job is asked what it waits for.
#ifndef LCI_OBSERVE_OBSERVER_H_
#define LCI_OBSERVE_OBSERVER_H_

#include <chrono>
#include <functional>
#include <memory>

#include "lci/boot/bootstrap.h"

namespace lci::observe {

struct observer_options {
  // How long a wait inside the library lasts before the job is asked. 0: for ever.
  std::chrono::milliseconds patience{0};
  // Whether the server of the bootstrap collects the answers, as lcrun does. Otherwise the rank
  // that asks collects them, and writes the report to its standard error stream.
  bool is_collected_by_server = false;
  // Called by the observer's thread whenever the job is asked; empty: nothing.
  std::function<void()> on_query = {};
};

// Watches the bootstrap for queries (job_report.h), puts the answers, and asks by itself when a
// thread has waited for longer than the patience, or when the process gets SIGUSR1 (if the program
// has left that signal at its default action when the observer starts). The thread sleeps, but for
// a moment once per second, and blocks all signals.
//
// `boot` outlives the observer. Thread safety: one thread makes and destroys it; one observer at a
// time, or one for each rank in a process that runs several (rank_scope.h); the first of them
// answers the signal. In a child process that is forked off there is no observer.
class observer {
 public:
  virtual ~observer() = default;
};

// Null if the process has no descriptor or thread left for it; then this rank does not answer
// queries, which is the only consequence.
std::unique_ptr<observer> start_observer(boot::bootstrap& boot, const observer_options& options);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_OBSERVER_H_
