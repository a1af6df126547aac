#include "lci/runtime/core/start_failure.h"

#include <optional>

#include "lci/api/types.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/core/throw.h"

namespace lci::rt {

void throw_start_failure(boot::bootstrap& boot, const std::string& what,
                         const base::Status& failure) {
  const std::string reason =
      what.empty() ? std::string(failure.message()) : base::StrCat(what, ": ", failure.ToString());
  if (base::IsAborted(failure)) {
    const std::optional<int> lost = boot.first_lost();
    if (lost && *lost != boot.rank()) {
      throw peer_failure_error(
          *lost, base::StrCat("lci: rank ", *lost, " is gone (found by rank ", boot.rank(),
                              " in a step that all ranks take together: ", reason, ")"));
    }
  }
  throw_runtime_error(reason);
}

int first_victim(boot::bootstrap& boot, int rank) {
  boot.report_lost(rank);
  const std::optional<int> first = boot.first_lost();
  return first && *first >= 0 && *first < boot.size() && *first != boot.rank() ? *first : rank;
}

}  // namespace lci::rt
