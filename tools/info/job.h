#ifndef LCI_TOOLS_INFO_JOB_H_
#define LCI_TOOLS_INFO_JOB_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "tools/info/info.h"

namespace lci::info {

// The bootstrap and network of a job that the ranks of this one would form.
struct job_info {
  std::vector<std::string> hosts;  // names, by rank
  std::string network;             // empty: the job would not start
  std::string reason;              // why this network is chosen, or the job would not start
  // The attributes whose values are not those of all ranks, each with the ranks of each value:
  // "backend (LCI_ATTR_BACKEND) is auto on rank 0, ofi on rank 1". Empty: none.
  std::string differences;
};

// Meets the other ranks, then starts and ends a runtime with them. Collective: every rank calls it,
// and all get the same answer. `own` is what this rank has collected; an error of one rank is the
// answer of all.
base::StatusOr<job_info> collect_job(boot::bootstrap& boot, const base::StatusOr<info>& own);

std::string as_text(const job_info& job);
// The value of the member "job".
std::string as_json(const job_info& job);

}  // namespace lci::info

#endif  // LCI_TOOLS_INFO_JOB_H_
