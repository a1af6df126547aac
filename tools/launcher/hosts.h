// The hosts of a job and the number of ranks of each.
#ifndef LCI_TOOLS_LAUNCHER_HOSTS_H_
#define LCI_TOOLS_LAUNCHER_HOSTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

struct host_slots {
  std::string name;  // for the launch agent: a name, an address or user@name
  int slots = 1;     // number of ranks for the host, at least 1
};

constexpr int max_hosts = 65536;
constexpr int max_slots = 1 << 20;

// The four functions below return each host once, in the order of first mention, with the sum of
// its slots. InvalidArgument names `source`, the invalid word and what is accepted. A name consists
// of letters, digits and . _ - : @ [ ] % and does not begin with a dash, because an agent would
// take it for an option.

// Parses "a:2,b,[::1]:4"; a host without a number has one slot.
base::StatusOr<std::vector<host_slots>> parse_host_list(std::string_view source,
                                                        std::string_view text);

// Parses the text of a host file. A line is "host", "host slots=2" or "host:2"; '#' begins a
// comment.
base::StatusOr<std::vector<host_slots>> parse_host_file(std::string_view source,
                                                        std::string_view text);

// Parses the text of a file of Grid Engine (PE_HOSTFILE), whose lines are "host slots queue
// processors".
base::StatusOr<std::vector<host_slots>> parse_grid_engine(std::string_view source,
                                                          std::string_view text);

// Parses SLURM_JOB_NODELIST ("n[1-3,07],login") and SLURM_TASKS_PER_NODE ("2(x3),1"; if empty, each
// host has one slot).
base::StatusOr<std::vector<host_slots>> parse_slurm(std::string_view node_list,
                                                    std::string_view tasks_per_node);

// Whether `name` is localhost, or the name of this machine with or without its domain.
bool is_this_host(std::string_view name);

// Returns the number of ranks of each host. Fills the slots in order, and once more when all are
// full. If `ranks` is 0, fills all slots once. If `per_host` is above 0, each host has that many
// slots, and no more ranks. `in_turn`: takes one slot of each host at a time.
base::StatusOr<std::vector<int>> distribute_ranks(const std::vector<host_slots>& hosts, int ranks,
                                                  int per_host, bool in_turn = false);

// Returns the ranks of each host in ascending order, given the number of ranks of each: consecutive
// ranks, or dealt in turn.
std::vector<std::vector<int>> place_ranks(const std::vector<int>& counts, bool in_turn);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_HOSTS_H_
