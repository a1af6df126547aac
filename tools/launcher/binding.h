// The binding of the ranks of a host to processors.
#ifndef LCI_TOOLS_LAUNCHER_BINDING_H_
#define LCI_TOOLS_LAUNCHER_BINDING_H_

#include <string>
#include <vector>

#include "tools/launcher/options.h"
#include "tools/launcher/topology.h"

namespace lci::launcher {

// Returns the processors of one of `ranks` ranks of this host, in ascending order; empty: not
// bound.
//
// With mapping::numa and mapping::socket, the ranks are dealt to the NUMA nodes or sockets in turn.
// The ranks of a NUMA node or socket, else those of the host, divide its cores evenly, in order, or
// its processors if the ranks are more than the cores; if they are more than the processors, each
// gets one, in rotation. binding::core binds a rank to its part; binding::numa and binding::socket
// bind it to the whole NUMA node or socket in which this part begins.
std::vector<int> bind_rank(const topology& host, int local_rank, int ranks, binding bind_to,
                           mapping map_by);

// "processors 0-1, 8-9 (cores 0-1, NUMA node 0, socket 0)"; "not bound".
std::string describe_binding(const topology& host, const std::vector<int>& processors);

// The number of ranks and processors of a host.
struct host_load {
  std::string name;
  int ranks = 0;
  int processors = 0;  // 0: not known
};
// Returns one line that names the hosts with more ranks than processors; empty if there are none.
std::string oversubscription(const std::vector<host_load>& hosts);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_BINDING_H_
