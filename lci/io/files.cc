#include "lci/io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "lci/io/unique_fd.h"

namespace lci::io {
namespace {

std::vector<std::string> list(unique_fd directory) {
  std::vector<std::string> names;
  if (!directory) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
  if (stream == nullptr) return names;
  directory.release();  // closedir closes it
  while (const dirent* entry = ::readdir(stream.get())) names.emplace_back(entry->d_name);
  return names;
}

// Bytes read; 0: the end of the file. (close() of a file that was only read leaves errno alone.)
std::optional<size_t> read_some(int fd, char* buffer, size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, buffer, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return std::nullopt;
  }
}

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_file(fd.get()) : std::nullopt;
}

std::optional<std::string> read_file(int fd) {
  std::string text;
  char block[4096];
  while (const std::optional<size_t> got = read_some(fd, block, sizeof block)) {
    if (*got == 0) return text;
    text.append(block, *got);
  }
  return std::nullopt;
}

std::optional<std::string_view> read_file(const char* path, char* buffer, size_t size) {
  const unique_fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  size_t filled = 0;
  while (const std::optional<size_t> got = read_some(fd.get(), buffer + filled, size - filled)) {
    filled += *got;
    if (*got == 0 || filled == size) return std::string_view(buffer, filled);
  }
  return std::nullopt;
}

bool write_private_file(const std::string& path, std::string_view bytes, existing_file existing) {
  std::string draft = path + ".XXXXXX";
  const int fd = ::mkostemp(draft.data(), O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  if (written >= 0 && static_cast<size_t>(written) < bytes.size()) errno = ENOSPC;
  bool good = written == static_cast<ssize_t>(bytes.size());
  // A file system of a network may report a full disk only now.
  good = ::close(fd) == 0 && good;
  if (good && existing == existing_file::keep) {
    if (::link(draft.c_str(), path.c_str()) == 0) return ::unlink(draft.c_str()) == 0;
    good = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;  // no hard links here
  }
  if (good && ::rename(draft.c_str(), path.c_str()) == 0) return true;
  const int why = errno;
  ::unlink(draft.c_str());
  errno = why;
  return false;
}

std::vector<std::string> list_directory(const std::string& path) {
  return list(unique_fd(::open(path.c_str(), directory_flags)));
}

std::vector<std::string> list_directory(int directory) {
  return list(unique_fd(::openat(directory, ".", directory_flags)));
}

}  // namespace lci::io
