#ifndef LCI_TOOLS_LAUNCHER_LAUNCH_REQUEST_H_
#define LCI_TOOLS_LAUNCHER_LAUNCH_REQUEST_H_

#include "lci/base/status.h"
#include "tools/launcher/options.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// The request to the helper of host `node`, without the token and the addresses of lcrun.
wire::launch_request launch_request_of(const launch_options& options, int node);

// Reads the launch request that an agent passes on from lcrun (wire.h). Returns InvalidArgument if
// the bytes are not a launch request of this version. Blocks until the request or the end arrives.
base::StatusOr<wire::launch_request> read_launch_request(int fd);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_LAUNCH_REQUEST_H_
