// The bootstrap of a rank over one TCP connection to a tcp_server.
#ifndef LCI_BOOT_TCP_CLIENT_H_
#define LCI_BOOT_TCP_CLIENT_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

struct tcp_client_options {
  std::string address;            // of the server: host:port or [v6 address]:port
  std::string token;              // of the job
  job_position position;          // local_size 0: the server determines local rank and size
  bootstrap::duration timeout{};  // for the arrival of the ranks; later the default
};

// Connects, and returns when all ranks of the job have connected.
//
// Unavailable if no server listens at the address; DeadlineExceeded with the ranks that did not
// arrive; PermissionDenied with the reason if the server refuses this rank (token, size, rank
// taken, version); Aborted and Unavailable as in the contract of bootstrap.
base::StatusOr<std::unique_ptr<bootstrap>> connect_tcp_bootstrap(const tcp_client_options& options);

// As connect_tcp_bootstrap(), for a job without a launcher: rank 0 first starts a server at the
// address, in a helper process (tcp_helper.h), and the other ranks wait until that listens.
base::StatusOr<std::unique_ptr<bootstrap>> connect_standalone_tcp_bootstrap(
    const tcp_client_options& options);

// As connect_standalone_tcp_bootstrap(), for ranks that know no address: rank 0 serves at a free
// port of all its addresses, and writes these and a token into the file `path` (meeting_file.h), for
// which the other ranks wait. options.address and options.token are not used. Unavailable if rank 0
// cannot be found, DeadlineExceeded if it does not answer.
base::StatusOr<std::unique_ptr<bootstrap>> connect_meeting_tcp_bootstrap(
    const tcp_client_options& options, const std::string& path);

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_CLIENT_H_
