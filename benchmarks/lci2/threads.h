// The threads of a rank: the processors that they are bound to, and a barrier.
#ifndef BENCHMARKS_LCI2_THREADS_H_
#define BENCHMARKS_LCI2_THREADS_H_

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lci.hpp"

namespace lci2 {

// The processors that this process may use: first one of each core, then the others.
inline std::vector<int> usable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  std::vector<int> first;
  std::vector<int> others;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                           "/topology/thread_siblings_list");
    int leader = cpu;
    if (!(siblings >> leader)) leader = cpu;
    const bool leads = leader == cpu || leader < 0 || !CPU_ISSET(leader, &allowed);
    (leads ? first : others).push_back(cpu);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

// Binds the calling thread. Ranks of one host share its processors. Throws std::runtime_error.
inline void bind_thread(const std::vector<int>& processors, int position, int all) {
  const int count = static_cast<int>(processors.size());
  if (count == 0) throw std::runtime_error("--bind core: the usable processors are unknown");
  const int place = all <= count ? position : static_cast<int>(int64_t{position} * count / all);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors[static_cast<size_t>(place)], &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::runtime_error("--bind core: a thread can't be bound; --bind none does without");
  }
}

inline bool ranks_share_host() {
  char names[2][256] = {};
  char own[256] = {};
  gethostname(own, sizeof(own) - 1);
  lci::allgather(own, names, sizeof(own));
  return std::strncmp(names[0], names[1], sizeof(own)) == 0;
}

// A barrier of the threads of this rank. Waiting threads yield, since a rank may have more threads
// than processors.
class thread_barrier {
 public:
  explicit thread_barrier(int threads) : threads_(threads) {}

  void wait() {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    while (round_.load(std::memory_order_acquire) == round) sched_yield();
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

}  // namespace lci2

#endif  // BENCHMARKS_LCI2_THREADS_H_
