#include "tools/launcher/process.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/files.h"

namespace lci::launcher {
namespace {

[[noreturn]] void fail_in_child(const rank_plan& rank, int code, const std::string& problem) {
  const std::string line = base::StrCat("lcrun: rank ", rank.rank, ": ", problem, "\n");
  base::write_all(STDERR_FILENO, line);
  _exit(code);
}

[[noreturn]] void fail_in_child(const rank_plan& rank, const std::string& what) {
  fail_in_child(rank, 127, base::StrCat(what, ": ", std::strerror(errno)));
}

// The interpreter that the first line of a script names; empty: the file is no script.
std::string interpreter_of(const std::string& file) {
  char begin[256];
  std::string_view line = io::read_file(file.c_str(), begin, sizeof(begin)).value_or("");
  if (!base::ConsumePrefix(&line, "#!")) return "";
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

// Why execve() has failed with errno `error`, although the file exists.
std::string execution_problem(const std::string& file, int error) {
  if (error == ENOEXEC) {
    return base::StrCat(std::strerror(error),
                        "; a script needs a first line such as #!/bin/sh, and a binary must be for "
                        "this processor");
  }
  if (error != ENOENT) return std::strerror(error);
  std::string interpreter = interpreter_of(file);
  if (interpreter.empty()) return "the dynamic loader that it names does not exist here";
  const bool is_crlf = interpreter.back() == '\r';
  if (is_crlf) interpreter.pop_back();
  return base::StrCat("its interpreter \"", interpreter, "\" does not exist",
                      is_crlf ? " with the carriage return that ends its first line; convert the "
                                "script to line ends of Unix"
                              : "");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// The limit of descriptors with which this process was started.
rlimit& first_file_limit() {
  static rlimit limit = {};
  return limit;
}

// Runs run() in a child, which does not return from it. The error begins with `what`.
template <class Run>
base::StatusOr<pid_t> start_child(const std::string& what, const Run& run) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    return base::ResourceExhaustedError(base::StrCat(what, ": ", base::start_error_text(errno)));
  }
  if (child > 0) {
    setpgid(child, child);  // in both processes, because either may be first
    return child;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent has died before the call of prctl
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (first_file_limit().rlim_max != 0) setrlimit(RLIMIT_NOFILE, &first_file_limit());
  run();
  _exit(127);
}

[[noreturn]] void run_in_child(const rank_plan& rank, const rank_streams& streams,
                               const std::vector<char*>& arguments,
                               const std::vector<char*>& environment) {
  if (streams.in >= 0 && dup2(streams.in, STDIN_FILENO) < 0) fail_in_child(rank, "stdin");
  if (streams.out >= 0 && dup2(streams.out, STDOUT_FILENO) < 0) fail_in_child(rank, "stdout");
  if (streams.error >= 0 && dup2(streams.error, STDERR_FILENO) < 0) fail_in_child(rank, "stderr");
  const program_plan& program = *rank.program;
  if (!program.wdir.empty() && chdir(program.wdir.c_str()) != 0) {
    fail_in_child(rank, base::StrCat("--wdir ", program.wdir));
  }
  if (!rank.processors.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int id : rank.processors) CPU_SET(id, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) fail_in_child(rank, "--bind-to");
  }
  execve(program.file.c_str(), arguments.data(), environment.data());
  const int error = errno;
  fail_in_child(
      rank, error == ENOENT ? 127 : 126,
      base::StrCat("can't run \"", program.file, "\": ", execution_problem(program.file, error)));
}

}  // namespace

base::StatusOr<pid_t> spawn(const rank_plan& rank, const rank_streams& streams) {
  const std::vector<char*> environment = pointers(rank.environment);
  const std::vector<char*> arguments = pointers(rank.program->command);
  return start_child(base::StrCat("no process for rank ", rank.rank),
                     [&] { run_in_child(rank, streams, arguments, environment); });
}

void raise_file_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == 0) return;
  first_file_limit() = limit;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

base::StatusOr<pid_t> start_agent(const std::vector<std::string>& command, int in, int out,
                                  int error) {
  const std::vector<char*> arguments = pointers(command);
  return start_child(base::StrCat("no process for ", command[0]), [&] {
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0) _exit(126);
    execvp(arguments[0], arguments.data());
    const std::string line = base::StrCat(command[0], ": ", std::strerror(errno), "\n");
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(126);
  });
}

void continue_stopped(const std::vector<pid_t>& groups) {
  const std::vector<std::string> processes = io::list_directory("/proc");
  if (processes.empty()) {
    for (const pid_t group : groups) kill(-group, SIGCONT);
  }
  for (const std::string& process : processes) {
    const pid_t pid = std::atoi(process.c_str());
    if (pid <= 0) continue;
    const std::string stat = io::read_file(base::StrCat("/proc/", pid, "/stat")).value_or("");
    // Behind the name, which may contain anything: the state, the parent, and the group.
    const size_t end_of_name = stat.rfind(") ");
    if (end_of_name == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    pid_t group = 0;
    const char* const rest = stat.c_str() + end_of_name + 2;
    if (std::sscanf(rest, "%c %d %d", &state, &parent, &group) != 3) continue;
    if (state == 'T' && std::find(groups.begin(), groups.end(), group) != groups.end()) {
      kill(pid, SIGCONT);
    }
  }
}

std::string describe_status(int wait_status) {
  if (WIFEXITED(wait_status)) return base::StrCat("exit code ", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(signal);
  return base::StrCat("signal ", signal,
                      name != nullptr ? base::StrCat(" (SIG", name, ")") : std::string());
}

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace lci::launcher
