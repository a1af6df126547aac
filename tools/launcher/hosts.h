// Which hosts a job runs on, and how many ranks each has.
#ifndef LCI_TOOLS_LAUNCHER_HOSTS_H_
#define LCI_TOOLS_LAUNCHER_HOSTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

struct host_slots {
  std::string name;  // as the launch agent wants it: a name, an address, user@name
  int slots = 1;     // ranks that the host is meant for, at least 1
};

constexpr int max_hosts = 65536;
constexpr int max_slots = 1 << 20;

// All three below: each host once, in the order of its first mention; slots of several mentions add
// up. InvalidArgument names `source`, the bad word and what is accepted. A name holds letters,
// digits and . _ - : @ [ ] % and does not begin with a dash (an agent would take it for an option).

// "a:2,b,[::1]:4"; one slot where none is said.
base::StatusOr<std::vector<host_slots>> parse_host_list(std::string_view source,
                                                        std::string_view text);

// The text of a host file. A line is "host", "host slots=2" or "host:2"; '#' begins a comment.
base::StatusOr<std::vector<host_slots>> parse_host_file(std::string_view source,
                                                        std::string_view text);

// SLURM_JOB_NODELIST ("n[1-3,07],login") and SLURM_TASKS_PER_NODE ("2(x3),1"; one each if empty).
base::StatusOr<std::vector<host_slots>> parse_slurm(std::string_view node_list,
                                                    std::string_view tasks_per_node);

// Whether `name` is localhost, or the name of this machine with or without its domain.
bool is_this_host(std::string_view name);

// How many ranks each host gets. The slots are filled in order; when all are full, in order again.
// With `ranks` 0 all slots are filled once. With `per_host` above 0 that many ranks per host are
// the slots, and the limit. `in_turn`: one slot of each host at a time.
base::StatusOr<std::vector<int>> share_out(const std::vector<host_slots>& hosts, int ranks,
                                           int per_host, bool in_turn = false);

// The ranks of each host, in ascending order, of their numbers: consecutive, or in turn.
std::vector<std::vector<int>> place_ranks(const std::vector<int>& counts, bool in_turn);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_HOSTS_H_
