#include "lci/boot/job_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/env.h"
#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/boot/file_state.h"
#include "lci/io/files.h"

namespace lci::boot {
namespace {

constexpr char lock_name[] = "lock";
constexpr char job_prefix[] = "job-";
constexpr char round_prefix[] = "round-";

base::Status error(std::string_view what) {
  const std::string text = base::StrCat("file bootstrap: ", what, ": ", base::error_text(errno));
  if (errno == EACCES || errno == EPERM || errno == ELOOP || errno == ENOTDIR) {
    return base::PermissionDeniedError(
        base::StrCat(text, "; set LCI_BOOT_DIR to a directory of your own"));
  }
  return base::InternalError(text);
}

std::string four_octal_digits(mode_t mode) {
  std::string digits = "0000";
  for (size_t i = digits.size(); i-- > 0; mode >>= 3) digits[i] = static_cast<char>('0' + mode % 8);
  return digits;
}

// Opens a directory that must belong to this user alone; creates it if it does not exist.
base::StatusOr<io::unique_fd> open_private(int parent, const std::string& name, bool* made) {
  *made = ::mkdirat(parent, name.c_str(), 0700) == 0;
  if (!*made && errno != EEXIST) return error(base::StrCat("mkdir ", name));
  io::unique_fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    // Another process removed the directory between the two calls.
    if (errno == ENOENT) return base::NotFoundError(name);
    return error(base::StrCat("open ", name));
  }
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return error(base::StrCat("stat ", name));
  if (info.st_uid != ::geteuid() || (info.st_mode & 0077) != 0) {
    return base::PermissionDeniedError(base::StrCat(
        "file bootstrap: the directory ", name, " belongs to user ", info.st_uid, " and has mode ",
        four_octal_digits(info.st_mode & 07777), ", but must belong to this process's user ",
        ::geteuid(), " alone (0700); set LCI_BOOT_DIR to a directory of your own"));
  }
  return fd;
}

base::StatusOr<io::unique_fd> open_root(const std::string& root) {
  if (!root.empty()) {
    if (::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) {
      return error(base::StrCat("mkdir ", root, " (LCI_BOOT_DIR)"));
    }
    io::unique_fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return error(base::StrCat("open ", root, " (LCI_BOOT_DIR)"));
    return fd;
  }
  const std::string name = base::StrCat("lci-", ::geteuid());
  for (const char* variable : {"TEST_TMPDIR", "XDG_RUNTIME_DIR", "TMPDIR", ""}) {
    const std::string base = *variable == '\0' ? "/tmp" : base::env_string(variable, "");
    if (base.empty() || ::access(base.c_str(), W_OK | X_OK) != 0) continue;
    const io::unique_fd parent(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent) continue;
    bool made = false;
    base::StatusOr<io::unique_fd> fd = open_private(parent.get(), name, &made);
    if (!fd.ok()) {
      return base::Status(fd.status().code(),
                          base::StrCat(fd.status().message(), " (in ", base, ")"));
    }
    return fd;
  }
  return base::NotFoundError(
      "file bootstrap: none of $TEST_TMPDIR, $XDG_RUNTIME_DIR, $TMPDIR and /tmp can be written to; "
      "set LCI_BOOT_DIR");
}

}  // namespace

std::string job_directory::round_name(int number) { return base::StrCat(round_prefix, number); }

base::Status job_directory::lock(io::steady::time_point deadline) {
  io::unique_fd fd(
      ::openat(directory_.get(), lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  // The directory itself may have been removed: no file can be created in it then.
  if (!fd && errno == ENOENT) return base::NotFoundError(name_);
  if (!fd) return error(base::StrCat("open ", name_, "/", lock_name));
  base::StatusOr<file_lock> lock = file_lock::take(fd.get(), /*exclusive=*/true, deadline);
  if (!lock.ok()) return lock.status();
  // Another process may have removed file and directory while this process waited.
  struct stat held = {}, there = {};
  if (::fstat(fd.get(), &held) != 0 ||
      ::fstatat(directory_.get(), lock_name, &there, AT_SYMLINK_NOFOLLOW) != 0 ||
      held.st_ino != there.st_ino || held.st_dev != there.st_dev) {
    return base::NotFoundError(name_);
  }
  lock->keep();
  lock_ = std::move(fd);
  return base::OkStatus();
}

void job_directory::unlock() { lock_.reset(); }

base::StatusOr<job_directory> job_directory::open_locked(const std::string& root,
                                                         const std::string& job,
                                                         io::steady::time_point deadline) {
  base::StatusOr<io::unique_fd> opened = open_root(root);
  if (!opened.ok()) return opened.status();
  job_directory found(*std::move(opened), base::StrCat(job_prefix, job));
  bool swept = false;
  do {
    bool made = false;
    base::StatusOr<io::unique_fd> directory = open_private(found.root_.get(), found.name_, &made);
    if (base::IsNotFound(directory.status())) continue;
    if (!directory.ok()) return directory.status();
    found.directory_ = *std::move(directory);
    if (made && !std::exchange(swept, true)) found.sweep_siblings();
    const base::Status locked = found.lock(deadline);
    if (locked.ok()) return found;
    if (!base::IsNotFound(locked)) return locked;
  } while (io::steady::now() < deadline);
  return base::DeadlineExceededError(
      base::StrCat("file bootstrap: cannot keep hold of the directory ", found.name_));
}

base::StatusOr<file_log> job_directory::open_latest_round(const std::string& root) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  job_directory found(io::unique_fd(::open(root.c_str(), flags)), "");
  for (const std::string& entry : io::list_directory(found.root_.get())) {
    if (!base::StartsWith(entry, job_prefix)) continue;
    if (!found.name_.empty()) return base::NotFoundError("several jobs");
    found.name_ = entry;
  }
  found.directory_ = io::unique_fd(::openat(found.root_.get(), found.name_.c_str(), flags));
  const int latest = found.name_.empty() || !found.directory_ ? -1 : found.latest_round();
  if (latest < 0) return base::NotFoundError("no job");
  return file_log::open(found.directory_.get(), round_name(latest));
}

int job_directory::latest_round() const {
  int latest = -1;
  for (const std::string& entry : io::list_directory(directory_.get())) {
    std::string_view number = entry;
    int value = -1;
    if (base::ConsumePrefix(&number, round_prefix) && base::SimpleAtoi(number, &value)) {
      latest = std::max(latest, value);
    }
  }
  return latest;
}

void job_directory::remove_finished() {
  bool empty = true;
  for (const std::string& entry : io::list_directory(directory_.get())) {
    if (!base::StartsWith(entry, round_prefix)) continue;
    base::StatusOr<file_log> round = file_log::open(directory_.get(), entry);
    // A draft of a creator that died and a damaged file are unused.
    const bool unused = base::EndsWith(entry, ".new") || base::IsDataLoss(round.status()) ||
                        (round.ok() && is_finished(&*round));
    if (!unused || ::unlinkat(directory_.get(), entry.c_str(), 0) != 0) empty = false;
  }
  if (!empty) return;
  // Remove the lock file last, under its lock: a process that waits for the lock sees that the file
  // is gone, and starts again.
  ::unlinkat(directory_.get(), lock_name, 0);
  ::unlinkat(root_.get(), name_.c_str(), AT_REMOVEDIR);
}

void job_directory::sweep_siblings() const {
  for (const std::string& entry : io::list_directory(root_.get())) {
    if (!base::StartsWith(entry, job_prefix) || entry == name_) continue;
    job_directory other(io::unique_fd(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0)), entry);
    other.directory_ = io::unique_fd(
        ::openat(root_.get(), entry.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // A job whose lock is held is in use.
    if (other.directory_ && other.lock(io::steady::now()).ok()) other.remove_finished();
  }
}

bool is_finished(file_log* round) {
  const base::StatusOr<file_lock> lock =
      file_lock::take(round->fd(), /*exclusive=*/false, io::steady::now());
  if (!lock.ok()) return false;  // another process writes
  file_state state(round->job_size());
  return !state.read(round).ok() || !state.has_connected_ranks();  // it is damaged, or unused
}

std::vector<rank_state> look_at_file_job(const std::string& root) {
  std::vector<rank_state> states;
  base::StatusOr<file_log> round = job_directory::open_latest_round(root);
  if (!round.ok()) return states;
  const base::StatusOr<file_lock> lock = file_lock::take(
      round->fd(), /*exclusive=*/false, io::deadline_after(std::chrono::milliseconds(1000)));
  file_state state(round->job_size());
  if (!lock.ok() || !state.read(&*round).ok()) return states;
  for (const file_state::member& m : state.members()) states.push_back(state.state_of(m));
  return states;
}

}  // namespace lci::boot
