// The addresses by which other hosts can reach this one.
#ifndef LCI_TOOLS_LAUNCHER_ADDRESSES_H_
#define LCI_TOOLS_LAUNCHER_ADDRESSES_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/socket.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

struct reachable {
  std::string bind;  // the address to listen on, without a port: "0.0.0.0", "[::]", "[fd..]"
  std::vector<std::string> addresses;  // of this host, best first, at most 16
};

// Returns the addresses of one interface, given by its name or one of its addresses. If `interface`
// is empty, returns those of all interfaces that are up, of the loopback only if there is no other.
// IPv4 addresses come before IPv6 ones: a host may have IPv4 for its containers only. Link-local IPv6
// addresses are not used, because their meaning depends on the host.
//
// Returns InvalidArgument, with the names of the interfaces, if `interface` does not exist.
base::StatusOr<reachable> find_reachable(const std::string& interface);

// The socket to which the helpers of a job connect.
struct helper_listener {
  io::unique_fd socket;
  std::vector<std::string> addresses;  // host:port; each leads to the socket
};

// Listens on --rdzv-endpoint, if it is an address, else on a free port of `at`. Writes the address
// and `token` to the file of --report-uri, if it is given.
base::StatusOr<helper_listener> listen_for_helpers(const reachable& at,
                                                   const launch_options& options,
                                                   const std::string& token);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ADDRESSES_H_
