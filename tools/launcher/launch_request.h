#ifndef LCI_TOOLS_LAUNCHER_LAUNCH_REQUEST_H_
#define LCI_TOOLS_LAUNCHER_LAUNCH_REQUEST_H_

#include "lci/base/status.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// Reads the launch request that an agent passes on from lcrun (wire.h). Returns InvalidArgument if
// the bytes are not a launch request of this version. Blocks until the request or the end arrives.
base::StatusOr<wire::launch_request> read_launch_request(int fd);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_LAUNCH_REQUEST_H_
