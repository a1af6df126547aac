#include "tools/launcher/report_directory.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/io/files.h"

namespace lci::launcher {
namespace {

constexpr int backlog = 16;

// The address of a file in an open directory. The path of the directory may be longer than an
// address.
sockaddr_un address_in(int directory, std::string_view name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = base::StrCat("/proc/self/fd/", directory, "/", name);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

io::unique_fd make_socket(int flags) {
  return io::unique_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

// Whether the name can be that of a job, and not a path.
bool is_job_id(std::string_view name) {
  constexpr size_t longest = 64;
  return !name.empty() && name.size() <= longest &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return base::ascii_isalnum(c) || c == '-' || c == '_'; });
}

}  // namespace

base::StatusOr<report_directory> report_directory::open(const std::string& path) {
  const std::string name = path.empty() ? base::StrCat("/tmp/lcrun-jobs-", geteuid()) : path;
  if (mkdir(name.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::InternalError(base::StrCat(name, ": ", std::strerror(errno)));
  }
  io::unique_fd fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0) {
    return base::InternalError(base::StrCat(name, ": ", std::strerror(errno)));
  }
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return base::PermissionDeniedError(
        base::StrCat(name, " must belong to this user and have the mode 0700"));
  }
  return report_directory(name, std::move(fd));
}

base::StatusOr<io::unique_fd> report_directory::listen(const std::string& job_id) const {
  const std::string unready = base::StrCat(".", job_id);
  const sockaddr_un address = address_in(fd_.get(), unready);
  io::unique_fd socket = make_socket(SOCK_NONBLOCK);
  if (!socket ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), backlog) != 0 ||
      renameat(fd_.get(), unready.c_str(), fd_.get(), job_id.c_str()) != 0) {
    const std::string error = base::StrCat(path_, "/", job_id, ": ", std::strerror(errno));
    unlinkat(fd_.get(), unready.c_str(), 0);
    return base::InternalError(error);
  }
  return socket;
}

void report_directory::remove(const std::string& job_id) const {
  unlinkat(fd_.get(), job_id.c_str(), 0);
}

base::StatusOr<io::unique_fd> report_directory::connect(const std::string& job_id) const {
  if (!is_job_id(job_id)) return base::NotFoundError("this is not the id of a job");
  const sockaddr_un address = address_in(fd_.get(), job_id);
  io::unique_fd socket = make_socket(0);
  if (!socket) return base::InternalError(std::strerror(errno));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return socket;
  }
  const int error = errno;
  if (error == ECONNREFUSED) remove(job_id);
  return base::NotFoundError(std::strerror(error));
}

std::vector<std::string> report_directory::jobs() const {
  std::vector<std::string> found;
  for (const std::string& name : io::list_directory(fd_.get())) {
    if (connect(name).ok()) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace lci::launcher
