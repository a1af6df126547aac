// Shared by all threads of a rank: the rank, its partner, and the channels between them.
#ifndef BENCHMARKS_PERF_JOB_H_
#define BENCHMARKS_PERF_JOB_H_

#include <sched.h>

#include <vector>

#include "lci.hpp"

namespace perf {

// A loop that waits, as programs write it: it polls, and leaves the processor to other threads only
// if the library does. The option --yield adds what careful programs do: a yield of their own after
// so many polls in a row that found nothing.
class waiter {
 public:
  // polls: 0: never. Before any thread waits.
  static void yield_after(int polls) { most_polls_ = polls; }

  void after(bool moved) {
    if (__builtin_expect(most_polls_ == 0, 1)) return;
    if (moved) {
      polls_ = 0;
    } else if (++polls_ > most_polls_) {
      sched_yield();
    }
  }

 private:
  static inline int most_polls_ = 0;
  int polls_ = 0;
};

// A runtime with its devices.
class job {
 public:
  // Whether the runtime's own device is the first. All threads serve it that poll any device
  // (am_poll_mask), so a thread does not have it to itself.
  enum class default_device { is_first, is_none };

  // Collective. The devices, but for the runtime's own, are made here, and freed at the end of the
  // job, before which all threads have ended.
  job(lci::runtime_t runtime, int device_count,
      default_device of_runtime = default_device::is_first);
  ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  lci::runtime_t runtime() const { return runtime_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // Rank i and rank i + ranks / 2 are a pair, so that on two machines every pair is of both.
  int peer() const { return rank_ < ranks_ / 2 ? rank_ + ranks_ / 2 : rank_ - ranks_ / 2; }
  bool is_initiator() const { return rank_ < ranks_ / 2; }
  lci::device_t device_of(int thread) const {
    return devices_[static_cast<size_t>(thread) % devices_.size()];
  }

 private:
  const lci::runtime_t runtime_;
  const int rank_;
  const int ranks_;
  const size_t first_own_;  // of the devices, that was made here
  std::vector<lci::device_t> devices_;
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_JOB_H_
