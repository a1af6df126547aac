// Where other hosts reach this one.
#ifndef LCI_TOOLS_LAUNCHER_ADDRESSES_H_
#define LCI_TOOLS_LAUNCHER_ADDRESSES_H_

#include <string>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

struct reachable {
  std::string bind;                    // what to listen on, without a port: "0.0.0.0", "[fe..]"
  std::vector<std::string> addresses;  // by which it may be reached, best first, at most 16
};

// `interface`: the name of a network interface or one of its addresses, nothing else is then used;
// empty: all interfaces that are up, loopback only if there is no other. IPv4 where there is any,
// else IPv6 (addresses of a link alone are not used: what they mean depends on the host).
//
// InvalidArgument with the interfaces there are, if there is none such.
base::StatusOr<reachable> find_reachable(const std::string& interface);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ADDRESSES_H_
