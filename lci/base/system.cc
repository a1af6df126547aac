#include "lci/base/system.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lci::base {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    const ssize_t got = ::getrandom(&bytes[have], size - have, 0);
    if (got < 0 && errno != EINTR) return "";
    if (got > 0) have += static_cast<size_t>(got);
  }
  return bytes;
}

Status no_random_bytes() { return InternalError("no random bytes (getrandom)"); }

StatusOr<uint64_t> random_number() {
  uint64_t number;
  const std::string bytes = random_bytes(sizeof(number));
  if (bytes.empty()) return no_random_bytes();
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int null = ::open("/dev/null", O_RDWR);
    // Another thread has taken the number meanwhile.
    if (null > STDERR_FILENO) ::close(null);
  }
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace lci::base
