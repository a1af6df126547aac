#include "lci/boot/meeting_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <optional>

#include "lci/base/env.h"
#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/io/files.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {
namespace {

constexpr char prefix[] = "start-";
// The file: this line, a line with the token, and a line for each address.
constexpr char first_line[] = "LCI job 1";
// Longer than a job takes to start.
constexpr time_t longest_start_s = 7 * 24 * 60 * 60;

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

io::unique_fd open_directory(const std::string& path) {
  return io::unique_fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void remove_old(const std::string& path) {
  const io::unique_fd directory = open_directory(path);
  if (!directory) return;
  const time_t now = ::time(nullptr);
  for (const std::string& name : io::list_directory(directory.get())) {
    struct stat info = {};
    if (base::StartsWith(name, prefix) &&
        ::fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        info.st_uid == ::geteuid() && now - info.st_mtime > longest_start_s) {
      ::unlinkat(directory.get(), name.c_str(), 0);
    }
  }
}

}  // namespace

base::StatusOr<std::string> meeting_path(std::string_view directory, std::string_view job) {
  std::string place(directory);
  if (place.empty()) {
    const std::optional<std::string> home = base::env_text("HOME");
    if (!home) {
      return base::InvalidArgumentError(
          "HOME is not set; set LCI_BOOT_DIR to a directory that all machines of the job share, or "
          "LCI_BOOT_ADDR to host:port, where host is the machine of rank 0, and LCI_BOOT_TOKEN");
    }
    place = base::StrCat(*home, "/.cache/lci");
  }
  if (place[0] != '/') {
    char here[4096];
    if (::getcwd(here, sizeof here) == nullptr) {
      return base::InvalidArgumentError(
          base::StrCat(place, ": the working directory: ", base::error_text(errno)));
    }
    place = base::StrCat(here, "/", place);
  }
  return base::StrCat(place, "/", prefix, job);
}

base::Status write_meeting_file(const std::string& path, const server_place& place,
                                io::existing_file existing) {
  const std::string directory = directory_of(path);
  ::mkdir(directory_of(directory).c_str(), 0700);
  ::mkdir(directory.c_str(), 0700);
  remove_old(directory);
  const std::string text =
      base::StrCat(first_line, "\n", place.token, "\n", base::StrJoin(place.addresses, "\n"), "\n");
  if (io::write_private_file(path, text, existing)) return base::OkStatus();
  const bool exists = errno == EEXIST;
  const std::string why = base::StrCat("cannot write ", path, ": ", base::error_text(errno));
  return exists ? base::AlreadyExistsError(why) : base::InvalidArgumentError(why);
}

base::StatusOr<server_place> read_meeting_file(const std::string& path) {
  const auto missing = [&] {
    return base::UnavailableError(base::StrCat(path, ": ", base::error_text(errno)));
  };
  // A client of NFS may remember for half a minute that a file was not there. It asks the server
  // anew about names in a directory that has just been opened and has changed.
  const io::unique_fd directory = open_directory(directory_of(path));
  if (!directory) return missing();
  const std::string name = path.substr(path.rfind('/') + 1);
  const io::unique_fd file(
      ::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!file || ::fstat(file.get(), &info) != 0) return missing();
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0077) != 0) {
    return base::PermissionDeniedError(
        base::StrCat(path, " is no file of user ", ::geteuid(), " that only this user can read"));
  }
  const std::optional<std::string> text = io::read_file(file.get());
  if (!text) return missing();
  const std::vector<std::string_view> lines = base::StrSplit(*text, '\n');
  if (lines.size() < 4 || lines[0] != first_line) {
    return base::DataLossError(
        base::StrCat(path, " is no file in which rank 0 of this version of LCI says where it is"));
  }
  server_place place;
  place.token = std::string(lines[1]);
  place.addresses.assign(lines.begin() + 2, lines.end() - 1);
  return place;
}

void remove_meeting_file(const std::string& path, const std::string& token) {
  const base::StatusOr<server_place> found = read_meeting_file(path);
  if (found.ok() && found->token == token) ::unlink(path.c_str());
}

}  // namespace lci::boot
