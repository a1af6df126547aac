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

// Creates a listening, non-blocking, close-on-exec socket. AlreadyExists if the address is in use.
base::StatusOr<unique_fd> listen_on(std::string_view address);

// Address of a listening socket, in the form of LCI_BOOT_ADDR.
base::StatusOr<std::string> local_address(int fd);

// Creates a connected, non-blocking, close-on-exec socket. Unavailable if no socket listens at the
// address (any more, or yet), DeadlineExceeded if the host does not answer, ResourceExhausted if
// this process may open no more files.
base::StatusOr<unique_fd> connect_to(std::string_view address, steady::time_point deadline);

// Disables Nagle's algorithm, and sets keepalive so that a peer whose host has died is noticed
// within half a minute.
void tune_connection(int fd);

// Whether a listening socket accepts connections from this machine only.
bool is_loopback(int fd);

// Owner of the process at the other end of an accepted connection, if that end is on this machine,
// from the kernel's table of connections (proc(5), /proc/net/tcp).
std::optional<uid_t> peer_user(int fd);

}  // namespace lci::boot

#endif  // LCI_BOOT_SOCKET_H_
