// The time of collective operations: of calls one after the other, as a program makes them, or with
// --overlap of operations by themselves and while the ranks compute.
#include <memory>
#include <vector>

#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/job.h"
#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/overlap.h"
#include "benchmarks/perf/participant.h"
#include "benchmarks/perf/team.h"
#include "lci.hpp"

namespace perf {
namespace {

class collective_test {
 public:
  collective_test(const options& chosen, const standing* bound)
      : options_(chosen),
        job_(lci::get_g_runtime(), chosen.device_count),
        team_(job_, chosen.threads, bound) {}

  figures measure(size_t size) {
    for (int thread = 0; thread < options_.threads; ++thread) {
      participants_.push_back(std::make_unique<participant>(options_, team_.all(), thread, size));
    }
    const figures result = options_.overlap ? measure_overlap(size) : measure_calls(size);
    participants_.clear();
    return result;
  }

 private:
  figures measure_calls(size_t size) {
    const run_counts counts =
        counts_for(options_, size, [this](uint64_t n) { return run(n, nullptr); });
    run(counts.warmup, nullptr);
    times own;
    const cpu_time before = used_cpu_time();
    own.longest = run(counts.measured, nullptr);
    own.cpu = used_cpu_time() - before;
    own.mean_total = own.longest;
    own.mean_steps = counts.measured;
    run(counts.measured, &own.samples);
    const uint64_t calls = counts.measured * lci::get_thread_n(team_.all());
    return figures_from(combined(own), size, counts.measured, calls, 1);
  }

  // Each rank computes for about as long as its own part of an operation takes.
  figures measure_overlap(size_t size) {
    overlap_times unused;
    const run_counts counts = counts_for(options_, size, [&](uint64_t n) {
      const uint64_t begin = now();
      run_pure(n, &unused, nullptr);
      return now() - begin;
    });
    run_pure(counts.warmup, &unused, nullptr);
    overlap_times mine;
    times own;
    const cpu_time before = used_cpu_time();
    run_pure(counts.measured, &mine, &own.samples);
    own.cpu = used_cpu_time() - before;
    own.longest = mine.pure;
    own.mean_total = mine.pure;
    own.mean_steps = counts.measured;
    const uint64_t steps = work_.steps_in(mine.pure / counts.measured);
    run_overlapped(counts.warmup, steps, &unused);
    run_overlapped(counts.measured, steps, &mine);
    const uint64_t calls = counts.measured * static_cast<uint64_t>(job_.ranks());
    figures result = figures_from(combined(own), size, counts.measured, calls, 1);
    result.overlap = overlap_from(combined(mine), calls);
    return result;
  }

  // n operations, which all ranks begin together (a barrier is before each), without computation.
  void run_pure(uint64_t n, overlap_times* into, histogram* samples) {
    run_together(n, [into, samples](participant& own) {
      const uint64_t taken = own.run_pure(into);
      if (samples != nullptr) samples->add(taken);
    });
  }

  // The same, with computation.
  void run_overlapped(uint64_t n, uint64_t steps, overlap_times* into) {
    run_together(
        n, [this, steps, into](participant& own) { own.run_overlapped(&work_, steps, into); });
  }

  template <class Operation>
  void run_together(uint64_t n, const Operation& operation) {
    team_.run([&](int thread) {
      participant& own = *participants_.front();
      for (uint64_t i = 0; i < n; ++i) {
        own.prepare();
        team_.sync(thread);
        operation(own);
      }
    });
  }

  // n calls, all threads of all ranks beginning together. Nanoseconds of this rank's first thread.
  uint64_t run(uint64_t n, histogram* samples) {
    uint64_t taken = 0;
    team_.run([&](int thread) {
      participant& own = *participants_[static_cast<size_t>(thread)];
      team_.sync(thread);
      const uint64_t its = own.run(n, thread == 0 ? samples : nullptr);
      if (thread == 0) taken = its;
    });
    return taken;
  }

  const options& options_;
  const job job_;
  team team_;
  computation work_;
  std::vector<std::unique_ptr<participant>> participants_;  // by thread
};

}  // namespace

void measure_collectives(const options& chosen, const standing* bound, const report& output) {
  collective_test test(chosen, bound);
  for (const size_t size : chosen.sizes) {
    const figures result = test.measure(size);
    if (lci::get_rank_me() == 0) output(result);
  }
}

}  // namespace perf
