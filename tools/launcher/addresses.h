// The addresses by which other hosts can reach this one.
#ifndef LCI_TOOLS_LAUNCHER_ADDRESSES_H_
#define LCI_TOOLS_LAUNCHER_ADDRESSES_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/reachable.h"
#include "lci/io/socket.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// Returns the addresses of one interface, given by its name or one of its addresses. If `interface`
// is empty, returns those of io::find_reachable().
//
// Returns InvalidArgument, with the names of the interfaces, if `interface` does not exist, and if no
// interface is up.
base::StatusOr<io::reachable> find_reachable(const std::string& interface);

// The socket to which the helpers of a job connect.
struct helper_listener {
  io::unique_fd socket;
  std::vector<std::string> addresses;  // host:port; each leads to the socket
};

// Listens on --rdzv-endpoint, if it is an address, else on a free port of `at`. Writes the address
// and `token` to the file of --report-uri, if it is given.
base::StatusOr<helper_listener> listen_for_helpers(const io::reachable& at,
                                                   const launch_options& options,
                                                   const std::string& token);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ADDRESSES_H_
