#include "tools/launcher/testing/lcrun_driver.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace lci::launcher {

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string fresh_path(const std::string& name) {
  static int number = 0;
  const char* dir = std::getenv("TEST_TMPDIR");
  return std::string(dir != nullptr ? dir : "/tmp") + "/" + std::to_string(getpid()) + "-" +
         std::to_string(number++) + "-" + name;
}

command::command(const std::vector<std::string>& arguments, const std::string& input,
                 const std::map<std::string, std::string>& environment)
    : out_(fresh_path("out")), error_(fresh_path("err")), in_(fresh_path("in")) {
  std::ofstream(in_) << input;
  pid_ = fork();
  if (pid_ != 0) return;
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  dup2(open(in_.c_str(), O_RDONLY), 0);
  dup2(open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
  dup2(open(error_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(98);
}

result command::wait() {
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_all(out_),
          read_all(error_)};
}

result run(std::vector<std::string> options, const std::vector<std::string>& program,
           const std::string& input, const std::map<std::string, std::string>& environment) {
  options.insert(options.begin(), lcrun);
  options.insert(options.end(), program.begin(), program.end());
  return command(options, input, environment).wait();
}

void wait_for_file(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0) sched_yield();
}

pid_t read_pid(const std::string& path) {
  wait_for_file(path);
  return std::atoi(read_all(path).c_str());
}

namespace {

// The state of a process, as the letter of /proc; 0 if there is no such process.
char state_of(pid_t pid) {
  const std::string stat = read_all("/proc/" + std::to_string(pid) + "/stat");
  const size_t end_of_name = stat.rfind(") ");
  return end_of_name != std::string::npos ? stat[end_of_name + 2] : 0;
}

}  // namespace

void wait_until_gone(pid_t pid) {
  for (;;) {
    const char state = state_of(pid);
    if (state == 0 || state == 'Z') return;
    sched_yield();
  }
}

void wait_until_stopped(pid_t pid) {
  while (state_of(pid) != 'T') sched_yield();
}

std::string command::error_so_far() const { return read_all(error_); }

bool is_gone(pid_t pid) { return kill(pid, 0) != 0; }

}  // namespace lci::launcher
