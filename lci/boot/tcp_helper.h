// Starts the bootstrap server of a job that no launcher serves.
#ifndef LCI_BOOT_TCP_HELPER_H_
#define LCI_BOOT_TCP_HELPER_H_

#include <string>

#include "lci/base/status.h"
#include "lci/boot/tcp_server.h"

namespace lci::boot {

// Starts a process that serves `options` for the calling process, which is rank 0 of the job, and
// returns the address of the server, as of tcp_server::address(), when it listens. AlreadyExists if
// the address is in use. The process removes the file `meeting` (meeting_file.h), if it is not empty
// and leads to this server, at the start of the job, or when the process ends without a start.
// `options.on_start` is not used.
//
// The server is a process because the other ranks must be able to get, enter collectives and leave
// while rank 0 computes, and after rank 0 has left. A server that rank 0 steps within its own calls
// cannot do that, and the bootstrap adds no thread to a rank.
//
// The process ends when rank 0 has left the job (or its process has ended) and no other rank is
// connected. If rank 0's process ends without leaving, the job is aborted. The helper watches rank
// 0 through a pidfd, not PR_SET_PDEATHSIG, which fires when the forking *thread* ends. The helper
// is not a child of the caller, so that waiting for any child does not return it. It is in a
// session of its own: a Ctrl-C at the terminal is for the ranks to handle, and the helper reports
// how they end. It keeps no file of the caller open, so that a reader of the program's output sees
// its end.
base::StatusOr<std::string> start_tcp_helper(const tcp_server::options& options,
                                             const std::string& meeting = "");

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_HELPER_H_
