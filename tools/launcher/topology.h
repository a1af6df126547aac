// The processors of this host, and how cores, NUMA nodes and sockets group them.
#ifndef LCI_TOOLS_LAUNCHER_TOPOLOGY_H_
#define LCI_TOOLS_LAUNCHER_TOPOLOGY_H_

#include <string>
#include <vector>

namespace lci::launcher {

// A logical processor, as the kernel schedules on it.
struct processor {
  int id = 0;      // the kernel's number
  int core = 0;    // counted through all sockets, in the order of `topology`
  int numa = 0;    // the kernel's number of the NUMA node
  int socket = 0;  // the kernel's number of the package
};

// Ordered by socket, NUMA node, core and number. Processors of a core follow each other.
using topology = std::vector<processor>;

// The processors that this process may use.
std::vector<int> allowed_processors();

// Those of `processors`, with their places as the files below `sysfs` ("/sys") tell them. Where a
// file is missing, a processor is a core of its own, in NUMA node 0 and socket 0.
topology read_topology(const std::string& sysfs, const std::vector<int>& processors);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_TOPOLOGY_H_
