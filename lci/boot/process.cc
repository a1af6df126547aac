#include "lci/boot/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace lci::boot {
namespace {

absl::optional<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  ::close(fd);
  if (got < 0) return absl::nullopt;
  return text;
}

struct process_stat {
  int64_t pid = 0;
  char state = 0;
  int64_t parent = 0;
  int64_t threads = 0;
  uint64_t start_time = 0;
};

absl::optional<process_stat> read_stat(absl::string_view process) {
  const absl::optional<std::string> text = read_file(absl::StrCat("/proc/", process, "/stat"));
  if (!text) return absl::nullopt;
  // The second field is the program's name in parentheses and may hold anything; count from its
  // end.
  const size_t name_end = text->rfind(')');
  process_stat stat;
  if (name_end == std::string::npos ||
      !absl::SimpleAtoi(text->substr(0, text->find(' ')), &stat.pid)) {
    return absl::nullopt;
  }
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(*text).substr(name_end + 1), ' ', absl::SkipEmpty());
  constexpr size_t first_field = 3;  // proc(5) counts from 1
  if (fields.size() <= 22 - first_field ||
      !absl::SimpleAtoi(fields[4 - first_field], &stat.parent) ||
      !absl::SimpleAtoi(fields[20 - first_field], &stat.threads) ||
      !absl::SimpleAtoi(fields[22 - first_field], &stat.start_time)) {
    return absl::nullopt;
  }
  stat.state = fields[0][0];
  return stat;
}

std::string boot_id() {
  const absl::optional<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
  return text ? std::string(absl::StripSuffix(*text, "\n")) : "?";
}

bool has_variable(absl::string_view environment, absl::string_view variable) {
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, variable) && absl::StartsWith(entry, "=")) return true;
  }
  return false;
}

}  // namespace

absl::optional<process_id> find_process(int64_t pid) {
  const absl::optional<process_stat> stat = read_stat(absl::StrCat(pid));
  if (!stat) return absl::nullopt;
  return process_id{pid, stat->start_time};
}

process_id this_process() {
  const absl::optional<process_stat> stat = read_stat("self");
  return stat ? process_id{stat->pid, stat->start_time} : process_id{::getpid(), 0};
}

bool is_alive(const process_id& process) {
  if (process.start_time == 0) return true;
  const absl::optional<process_stat> stat = read_stat(absl::StrCat(process.pid));
  if (!stat || stat->start_time != process.start_time) return false;
  // A first thread that has ended is shown as a zombie although others may go on.
  const bool ended = stat->state == 'Z' || stat->state == 'X';
  return !ended || stat->threads > 1;
}

std::string process_domain() {
  struct stat proc = {};
  return absl::StrCat(boot_id(), "/", ::stat("/proc", &proc) == 0 ? proc.st_dev : 0);
}

std::string node_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  struct stat shm = {};
  const uint64_t shm_device = ::stat("/dev/shm", &shm) == 0 ? shm.st_dev : 0;
  return absl::StrCat(host, "/", boot_id(), "/", shm_device);
}

absl::optional<process_id> ancestor_without(const std::string& variable) {
  const absl::optional<process_stat> self = read_stat("self");
  if (!self) return absl::nullopt;
  int64_t pid = self->parent;
  while (pid > 1) {
    const absl::optional<std::string> environment =
        read_file(absl::StrCat("/proc/", pid, "/environ"));
    // Another user's process (a daemon of the batch system): not a wrapper of ours.
    if (!environment || !has_variable(*environment, variable)) return find_process(pid);
    const absl::optional<process_stat> stat = read_stat(absl::StrCat(pid));
    if (!stat) return absl::nullopt;
    pid = stat->parent;
  }
  return find_process(pid);
}

}  // namespace lci::boot
