// What all threads of a rank share: who the rank is, who its partner, and through what they talk.
#ifndef BENCHMARKS_PERF_JOB_H_
#define BENCHMARKS_PERF_JOB_H_

#include <vector>

#include "lci.hpp"
#include "lci/base/backoff.h"

namespace perf {

// In a loop that waits: there may be more threads than cores.
class waiter {
 public:
  void after(bool moved) {
    if (moved) {
      backoff_.reset();
    } else {
      backoff_.idle();
    }
  }

 private:
  lci::base::poll_backoff backoff_;
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
