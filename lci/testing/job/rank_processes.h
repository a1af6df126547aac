// Waits for ranks that are processes.
#ifndef LCI_TESTING_JOB_RANK_PROCESSES_H_
#define LCI_TESTING_JOB_RANK_PROCESSES_H_

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace lci::boot {

// Thread safety: none.
class rank_processes {
 public:
  // The exit status of a rank whose assertion has failed.
  static constexpr int assertion_failed = 2;

  // `ranks` are children of this process, by rank.
  explicit rank_processes(const std::vector<pid_t>& ranks);

  // Returns, when all have ended, the number of ranks whose status was not 0. When an assertion of
  // one rank has failed, the others may wait for it: they have fail_fast::grace_seconds to end by
  // themselves, and are then killed, which is a failure of the test. Called once.
  int wait();

 private:
  using clock = std::chrono::steady_clock;

  int milliseconds_left() const;  // negative: without end
  void reap();
  void kill_the_rest();

  const std::vector<pid_t> pids_;
  std::vector<pollfd> running_;  // by rank; -1 for one that has ended
  size_t ended_ = 0;
  int failed_ = 0;
  int first_failed_ = -1;  // by an assertion
  std::optional<clock::time_point> deadline_;
};

}  // namespace lci::boot

#endif  // LCI_TESTING_JOB_RANK_PROCESSES_H_
