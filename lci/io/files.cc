#include "lci/io/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), block, sizeof(block));
    if (got == 0) return text;
    if (got > 0) {
      text.append(block, static_cast<size_t>(got));
    } else if (errno != EINTR) {
      return std::nullopt;  // close() of a file that was only read leaves errno alone
    }
  }
}

std::vector<std::string> list_directory(const std::string& path) {
  return list(unique_fd(::open(path.c_str(), directory_flags)));
}

std::vector<std::string> list_directory(int directory) {
  return list(unique_fd(::openat(directory, ".", directory_flags)));
}

}  // namespace lci::io
