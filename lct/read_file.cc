#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lct/lct.h"

namespace {

// As read(2), but reads until the end of the file or of the buffer.
ssize_t read_all(int file, char* buffer, size_t size) {
  size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(file, buffer + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(have);
}

}  // namespace

ssize_t LCT_read_file(char* buffer, size_t max, const char* filename_fmt, ...) {
  if (buffer == nullptr || max == 0 || filename_fmt == nullptr) {
    errno = EINVAL;
    return -1;
  }
  std::memset(buffer, 0, max);
  char path[PATH_MAX];
  va_list arguments;
  va_start(arguments, filename_fmt);
  const int length = std::vsnprintf(path, sizeof(path), filename_fmt, arguments);
  va_end(arguments);
  if (length < 0) return -1;
  if (static_cast<size_t>(length) >= sizeof(path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t got = read_all(file, buffer, max - 1);
  const int error = errno;
  ::close(file);
  errno = error;
  return got;
}
