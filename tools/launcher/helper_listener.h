#ifndef LCI_TOOLS_LAUNCHER_HELPER_LISTENER_H_
#define LCI_TOOLS_LAUNCHER_HELPER_LISTENER_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/socket.h"
#include "tools/launcher/addresses.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// The socket to which the helpers of a job connect.
struct helper_listener {
  io::unique_fd socket;
  std::vector<std::string> addresses;  // host:port, each of which leads to the socket
};

// Listens on --rdzv-endpoint, if it is an address, else on a free port of `at`. Writes the address
// and `token` to the file of --report-uri, if it is given.
base::StatusOr<helper_listener> listen_for_helpers(const reachable& at,
                                                   const launch_options& options,
                                                   const std::string& token);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_HELPER_LISTENER_H_
