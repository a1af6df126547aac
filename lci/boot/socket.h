// Addresses and sockets of the TCP bootstrap.
#ifndef LCI_BOOT_SOCKET_H_
#define LCI_BOOT_SOCKET_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/boot/deadline.h"

namespace lci::boot {

// Owns a file descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1);
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// "host:port" or "[v6 address]:port", as in LCI_BOOT_ADDR.
struct host_port {
  std::string host;
  std::string port;
};
base::StatusOr<host_port> parse_address(std::string_view address);

// A listening, non-blocking, close-on-exec socket. AlreadyExists if the address is in use.
base::StatusOr<unique_fd> listen_on(std::string_view address);

// Where a socket listens, as in LCI_BOOT_ADDR.
base::StatusOr<std::string> local_address(int fd);

// A connected, non-blocking, close-on-exec socket. Unavailable if nobody listens there (any more,
// or yet), DeadlineExceeded if nobody answers.
base::StatusOr<unique_fd> connect_to(std::string_view address, steady::time_point deadline);

// Small frames leave at once; a peer whose host has died is noticed within half a minute.
void tune_connection(int fd);

// Whether a listening socket takes connections from this machine only.
bool is_loopback(int fd);

// The user whose process is at the other end of an accepted connection, if that end is on this
// machine, as the kernel's table of connections (proc(5), /proc/net/tcp) says.
std::optional<uid_t> peer_user(int fd);

}  // namespace lci::boot

#endif  // LCI_BOOT_SOCKET_H_
