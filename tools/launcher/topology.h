// The processors of this host, grouped by cores, NUMA nodes and sockets.
#ifndef LCI_TOOLS_LAUNCHER_TOPOLOGY_H_
#define LCI_TOOLS_LAUNCHER_TOPOLOGY_H_

#include <string>
#include <vector>

namespace lci::launcher {

// A logical processor.
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

// Returns `processors` with their core, NUMA node and socket, read from the files below `sysfs`
// ("/sys"). If a file is missing, a processor is a core of its own, in NUMA node 0 and socket 0.
topology read_topology(const std::string& sysfs, const std::vector<int>& processors);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_TOPOLOGY_H_
