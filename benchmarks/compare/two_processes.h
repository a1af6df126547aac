// Two ranks without a launcher: this process and a child of it, with memory that both see.
#ifndef BENCHMARKS_COMPARE_TWO_PROCESSES_H_
#define BENCHMARKS_COMPARE_TWO_PROCESSES_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace compare {

class two_processes {
 public:
  // Forks; returns in both. The child is rank 1 and dies with its parent. If the child fails, so
  // does the parent: a process that waits for a message that cannot come is ended with exit code 1.
  // shared_bytes: size of shared(), zeroed.
  explicit two_processes(size_t shared_bytes);
  // Rank 0 waits until rank 1 has ended.
  ~two_processes();
  two_processes(const two_processes&) = delete;
  two_processes& operator=(const two_processes&) = delete;

  int rank() const { return rank_; }
  pid_t other() const { return other_; }
  void* shared() const { return shared_; }

  // Returns when both have called it. Writes of one process before it are visible to the other
  // after it.
  void meet();

 private:
  struct meeting_t;

  int rank_ = 0;
  pid_t other_ = 0;
  uint64_t meetings_ = 0;
  meeting_t* meeting_;
  void* shared_;
};

}  // namespace compare

#endif  // BENCHMARKS_COMPARE_TWO_PROCESSES_H_
