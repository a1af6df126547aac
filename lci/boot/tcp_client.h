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
  std::string token;              // the job's
  job_position position;          // with local_size 0, the server finds local rank and size
  bootstrap::duration timeout{};  // for the ranks to arrive, and later the default
};

// Connects, and returns when all ranks of the job have done so.
//
// Unavailable with nobody listening at the address; DeadlineExceeded names the ranks that did not
// come; PermissionDenied if the server refuses (token, size, rank taken, version), with its reason;
// Aborted and Unavailable as in the contract of bootstrap.
base::StatusOr<std::unique_ptr<bootstrap>> connect_tcp_bootstrap(const tcp_client_options& options);

// For a job that no launcher serves: the same, but rank 0 first starts a server at the address, in
// a helper process (tcp_helper.h), and the others wait until it is there.
base::StatusOr<std::unique_ptr<bootstrap>> connect_standalone_tcp_bootstrap(
    const tcp_client_options& options);

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_CLIENT_H_
