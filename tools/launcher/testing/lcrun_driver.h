// Starts lcrun for tests, and observes its exit code, its output and the processes that it leaves
// behind.
#ifndef LCI_TOOLS_LAUNCHER_TESTING_LCRUN_DRIVER_H_
#define LCI_TOOLS_LAUNCHER_TESTING_LCRUN_DRIVER_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace lci::launcher {

inline constexpr char lcrun[] = "tools/launcher/lcrun";
inline constexpr char test_child[] = "tools/launcher/testing/test_child";

std::string read_all(const std::string& path);
std::vector<std::string> lines_of(const std::string& text);
// A path in the temporary directory of the test that no other call has returned.
std::string fresh_path(const std::string& name);

struct result {
  int code = -1;  // exit code, or 128 + signal
  std::string out;
  std::string error;
};

// A command that runs with its output in files, so that the test need not read while it runs.
class command {
 public:
  explicit command(const std::vector<std::string>& arguments, const std::string& input = "",
                   const std::map<std::string, std::string>& environment = {});
  pid_t pid() const { return pid_; }
  // The standard error so far.
  std::string error_so_far() const;
  result wait();

 private:
  const std::string out_;
  const std::string error_;
  const std::string in_;
  pid_t pid_;
};

// Runs lcrun with `options` and `program`, and returns when lcrun has ended.
result run(std::vector<std::string> options, const std::vector<std::string>& program,
           const std::string& input = "",
           const std::map<std::string, std::string>& environment = {});

// The waiting functions have no deadline but the time limit of the test.
void wait_for_file(const std::string& path);
pid_t read_pid(const std::string& path);
// Waits until the process is gone, or is a zombie that its new parent has not reaped.
void wait_until_gone(pid_t pid);
bool is_gone(pid_t pid);
// Waits until the process is stopped.
void wait_until_stopped(pid_t pid);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_TESTING_LCRUN_DRIVER_H_
