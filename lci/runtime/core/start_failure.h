#ifndef LCI_RUNTIME_CORE_START_FAILURE_H_
#define LCI_RUNTIME_CORE_START_FAILURE_H_

#include <string>
#include <utility>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/runtime/core/throw.h"

namespace lci::rt {

// Throws what a step that all ranks take together has failed with. Aborted because of a lost rank:
// peer_failure_error, with the first rank that the job lost; else std::runtime_error. The text is
// "lci: ", `what` (may be empty) and the error's.
[[noreturn]] void throw_start_failure(boot::bootstrap& boot, const std::string& what,
                                      const base::Status& failure);

// Tells the job that `rank` is lost, and returns the first rank that the job has lost: that one, or
// another one whose end this rank has not noticed yet, and which the end of `rank` may be due to.
// Asks the bootstrap, so only for a first failure.
int first_victim(boot::bootstrap& boot, int rank);

// A setting of the program, as it was found. Throws std::invalid_argument, "lci: " and the error's
// text, if it is wrong.
template <class T>
T checked_setting(base::StatusOr<T> found) {
  if (!found.ok()) throw_invalid_argument(found.status().message());
  return *std::move(found);
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_START_FAILURE_H_
