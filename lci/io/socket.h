// Addresses and sockets of TCP.
#ifndef LCI_IO_SOCKET_H_
#define LCI_IO_SOCKET_H_

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/unique_fd.h"

namespace lci::io {

// "host:port" or "[v6 address]:port", as in LCI_BOOT_ADDR.
struct host_port {
  std::string host;
  std::string port;
};
base::StatusOr<host_port> parse_address(std::string_view address);

// Creates a listening, non-blocking, close-on-exec socket. At [::], it accepts connections over IPv4
// as well. AlreadyExists if the address is in use.
base::StatusOr<unique_fd> listen_on(std::string_view address);

// As listen_on(), for a server that other machines reach by the same address. Many distributions
// resolve the name of a machine to a loopback address on that machine (127.0.1.1), and nowhere else.
// For such a name, the socket listens at all addresses of the machine; for "localhost" it does not.
base::StatusOr<unique_fd> listen_for_others(std::string_view address);

// Address of a listening socket, in the form of LCI_BOOT_ADDR.
base::StatusOr<std::string> local_address(int fd);

// Creates a non-blocking, close-on-exec socket for each address of the host, at least one, and
// begins to connect it. A socket is writable when it is connected or has failed. Errors as of
// connect_result(), InvalidArgument if this is not an address, and ResourceExhausted if this process
// may open no more files.
base::StatusOr<std::vector<unique_fd>> begin_connecting(std::string_view address);
// Whether a socket of begin_connecting() that is writable is connected. Unavailable if no socket
// listens at the address (any more, or yet).
base::Status connect_result(int fd);

// Disables Nagle's algorithm, and ends the connection when the peer's kernel has not answered
// keep-alives, or has not acknowledged data, for `patience` (at least 1 s). The peer's process need
// not answer, so a stopped process (Ctrl-Z) is not lost.
void tune_connection(int fd, std::chrono::milliseconds patience = std::chrono::seconds(30));

// Whether a listening socket accepts connections from this machine only.
bool is_loopback(int fd);

// Owner of the process at the other end of an accepted connection, if that end is on this machine,
// from the kernel's table of connections (proc(5), /proc/net/tcp).
std::optional<uid_t> peer_user(int fd);

}  // namespace lci::io

#endif  // LCI_IO_SOCKET_H_
