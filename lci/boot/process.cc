#include "lci/boot/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/files.h"

namespace lci::boot {
namespace {

struct process_stat {
  int64_t pid = 0;
  char state = 0;
  int64_t parent = 0;
  int64_t threads = 0;
  uint64_t start_time = 0;
  uint64_t image = 0;
};

// Without an allocation, as failure detectors ask for the state of processes all the time.
std::optional<process_stat> parse_stat(std::string_view text) {
  process_stat stat;
  // The second field is the program's name in parentheses and may contain anything; the fields
  // after it follow its end.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos ||
      !base::SimpleAtoi(text.substr(0, text.find(' ')), &stat.pid)) {
    return std::nullopt;
  }
  text.remove_prefix(name_end + 1);
  // The numbers of the fields are those of proc(5).
  for (int number = 3; number <= 28; ++number) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin);
    const std::string_view field = text.substr(0, text.find(' '));
    text.remove_prefix(field.size());
    const auto is_read = [&](int wanted, auto* to) {
      return number != wanted || base::SimpleAtoi(field, to);
    };
    if (number == 3) stat.state = field[0];
    if (!is_read(4, &stat.parent) || !is_read(20, &stat.threads) ||
        !is_read(22, &stat.start_time) || !is_read(28, &stat.image)) {
      return std::nullopt;
    }
  }
  return stat;
}

// The state of the process with this pid; nullopt: errno says why. Read where its first thread is
// listed: an emulator of another processor, such as qemu, shows its process another /proc/self/stat
// (and /proc/PID/stat) than other processes see.
std::optional<process_stat> read_stat(const char* pid) {
  char path[96];
  std::snprintf(path, sizeof path, "/proc/%s/task/%s/stat", pid, pid);
  char buffer[2048];  // 52 numbers and a name of at most 64 bytes
  const std::optional<std::string_view> text = io::read_file(path, buffer, sizeof buffer);
  if (!text) return std::nullopt;
  const std::optional<process_stat> stat = parse_stat(*text);
  // The file of a process that ends just now may be empty.
  if (!stat) errno = ESRCH;
  return stat;
}

std::optional<process_stat> read_stat(int64_t pid) {
  char name[24];
  std::snprintf(name, sizeof name, "%lld", static_cast<long long>(pid));
  return read_stat(name);
}

std::optional<process_stat> read_own_stat() {
  char pid[24];
  const ssize_t size = ::readlink("/proc/self", pid, sizeof pid - 1);
  if (size < 0) return std::nullopt;
  pid[size] = '\0';
  return read_stat(pid);
}

// The process that holds a flock on the file; 0: unknown. A line of /proc/locks is "1: FLOCK
// ADVISORY WRITE pid major:minor:inode 0 EOF", with the numbers of the device in hexadecimal.
int64_t find_lock_holder(const struct stat& file) {
  char name[64];
  std::snprintf(name, sizeof name, "%02x:%02x:%llu", major(file.st_dev), minor(file.st_dev),
                static_cast<unsigned long long>(file.st_ino));
  const std::optional<std::string> locks = io::read_file("/proc/locks");
  if (!locks) return 0;
  for (const std::string_view line : base::StrSplit(*locks, '\n', base::SkipEmpty())) {
    const std::vector<std::string_view> fields = base::StrSplit(line, ' ', base::SkipEmpty());
    // A process that waits has "->" before the kind of the lock.
    if (fields.size() < 6 || fields[1] != "FLOCK" || fields[5] != name) continue;
    int64_t pid = 0;
    return base::SimpleAtoi(fields[4], &pid) ? pid : 0;
  }
  return 0;
}

bool has_variable(std::string_view environment, std::string_view variable) {
  for (std::string_view entry : base::StrSplit(environment, '\0')) {
    if (base::ConsumePrefix(&entry, variable) && base::StartsWith(entry, "=")) return true;
  }
  return false;
}

}  // namespace

std::optional<process_id> find_process(int64_t pid) {
  const std::optional<process_stat> stat = read_stat(pid);
  if (!stat) return std::nullopt;
  return process_id{pid, stat->start_time, stat->image};
}

process_id this_process() {
  const std::optional<process_stat> stat = read_own_stat();
  return stat ? process_id{stat->pid, stat->start_time, stat->image} : process_id{::getpid(), 0, 0};
}

bool is_alive(const process_id& process) {
  if (process.start_time == 0) return true;
  const std::optional<process_stat> stat = read_stat(process.pid);
  // Another error, such as EMFILE, is this process's own.
  if (!stat) return errno != ENOENT && errno != ESRCH;
  if (stat->start_time != process.start_time) return false;
  // The kernel shows 0 where this process may not look.
  if (process.image != 0 && stat->image != 0 && stat->image != process.image) return false;
  // A process whose first thread has ended is shown as a zombie although other threads may run.
  const bool ended = stat->state == 'Z' || stat->state == 'X';
  return !ended || stat->threads > 1;
}

std::string describe_lock_holder(int fd) {
  struct stat file = {};
  if (::fstat(fd, &file) != 0) return "";
  const int64_t pid = find_lock_holder(file);
  if (pid <= 0) return "";
  const std::optional<process_stat> holder = read_stat(pid);
  const bool is_stopped = holder && (holder->state == 'T' || holder->state == 't');
  return base::StrCat("process ", pid, is_stopped ? ", which is stopped" : "");
}

std::string boot_id() {
  const std::optional<std::string> text = io::read_file("/proc/sys/kernel/random/boot_id");
  if (!text) return "?";
  std::string_view line = *text;
  base::ConsumeSuffix(&line, "\n");
  return std::string(line);
}

std::string process_domain() {
  struct stat proc = {};
  return base::StrCat(boot_id(), "/", ::stat("/proc", &proc) == 0 ? proc.st_dev : 0);
}

std::string network_domain() {
  struct stat ns = {};
  return base::StrCat(boot_id(), "/", ::stat("/proc/self/ns/net", &ns) == 0 ? ns.st_ino : 0);
}

std::string node_name() {
  struct stat shm = {};
  const uint64_t shm_device = ::stat("/dev/shm", &shm) == 0 ? shm.st_dev : 0;
  return base::StrCat(base::host_name(), "/", boot_id(), "/", shm_device);
}

std::optional<process_id> ancestor_without(const std::string& variable) {
  const std::optional<process_stat> self = read_own_stat();
  if (!self) return std::nullopt;
  int64_t pid = self->parent;
  while (pid > 1) {
    const std::optional<std::string> environment =
        io::read_file(base::StrCat("/proc/", pid, "/environ"));
    // If the environment is unreadable, the process belongs to another user (a daemon of the batch
    // system) and is not a wrapper of this job.
    if (!environment || !has_variable(*environment, variable)) return find_process(pid);
    const std::optional<process_stat> stat = read_stat(pid);
    if (!stat) return std::nullopt;
    pid = stat->parent;
  }
  return find_process(pid);
}

}  // namespace lci::boot
