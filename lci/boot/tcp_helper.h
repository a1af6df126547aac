// The rendezvous of a job that no launcher serves.
#ifndef LCI_BOOT_TCP_HELPER_H_
#define LCI_BOOT_TCP_HELPER_H_

#include "lci/base/status.h"
#include "lci/boot/tcp_server.h"

namespace lci::boot {

// Starts a process that serves `options` for the calling process, which is rank 0 of the job, and
// returns when the address is listened on. AlreadyExists if it is in use.
//
// Why a process: the others must be able to get, meet and leave while rank 0 computes, and after it
// has left; a server that rank 0 steps in its own calls cannot do that, and threads of ours in a
// rank are not wanted.
//
// Its life: it ends when rank 0 has left the job (or its process has ended) and nobody else is
// connected. If rank 0's process ends without leaving, the job is aborted. It follows the process
// by a pidfd, not by PR_SET_PDEATHSIG, which fires when the forking *thread* ends. It is not the
// caller's child (waiting for any child does not meet it), is in a session of its own (a Ctrl-C at
// the terminal is the ranks' to handle; how they end is what it reports), and holds no file of the
// caller's open (whoever reads the program's output sees its end).
base::Status start_tcp_helper(const tcp_server::options& options);

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_HELPER_H_
