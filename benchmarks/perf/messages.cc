// The tests latency, rate, bandwidth and bibandwidth.
#include <algorithm>
#include <limits>
#include <vector>

#include "benchmarks/perf/channels.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/pattern.h"
#include "benchmarks/perf/team.h"

namespace perf {
namespace {

bool is_pingpong(const options& chosen) {
  return chosen.test == test_kind::latency && !is_one_sided(chosen.op);
}

std::unique_ptr<pattern> make_pattern(const options& chosen, const job& the_job) {
  if (is_pingpong(chosen)) return make_pingpong(the_job.is_initiator());
  const bool both = chosen.test == test_kind::bibandwidth;
  return make_stream(both || the_job.is_initiator(), both || !the_job.is_initiator());
}

// The results of one thread for one size.
struct thread_times {
  uint64_t begin = 0;  // of the run without samples
  uint64_t end = 0;
  histogram samples;
};

class messages_test {
 public:
  messages_test(const options& chosen, const standing* bound)
      : options_(chosen),
        job_(
            lci::get_g_runtime(), chosen.device_count,
            chosen.device_count > 1 ? job::default_device::is_none : job::default_device::is_first),
        team_(job_, chosen.threads, bound),
        channels_(job_, chosen),
        pattern_(make_pattern(chosen, job_)) {
    team_.run([this](int thread) { channels_.make(thread); });
    channels_.connect();
  }

  figures measure(size_t size) {
    team_.run([&](int thread) { channels_.of(thread).set_size(size); });
    const run_counts counts =
        counts_for(options_, size, [this](uint64_t n) { return nanoseconds_of(n); });
    const uint64_t n = counts.measured;
    std::vector<thread_times> found(static_cast<size_t>(options_.threads));
    cpu_time used;
    team_.run([&](int thread) {
      thread_times& own = found[static_cast<size_t>(thread)];
      uint64_t begin = 0;
      run(thread, counts.warmup, nullptr, &begin);
      own.end = run(thread, n, nullptr, &own.begin, &used);
      run(thread, n, &own.samples, &begin);
    });
    times own = times_of_rank(found, n);
    own.cpu = used;
    return figures_from(combined(own), size, n, messages(n), is_pingpong(options_) ? 2 : 1);
  }

 private:
  // used: the processor time of the rank from the begin of the run until all threads of all ranks
  // have ended it. Thread 0 sets it.
  uint64_t run(int thread, uint64_t n, histogram* samples, uint64_t* begin,
               cpu_time* used = nullptr) {
    channel& way = channels_.of(thread);
    const bool counts_cpu = used != nullptr && thread == 0;
    way.begin_run();
    pattern_->prepare(way, n);
    team_.sync(thread);
    const cpu_time before = counts_cpu ? used_cpu_time() : cpu_time();
    *begin = now();
    const uint64_t end = pattern_->run(way, n, samples);
    if (used != nullptr) team_.sync(thread);
    if (counts_cpu) *used = used_cpu_time() - before;
    return end;
  }

  // Of a run of n iterations in this rank.
  uint64_t nanoseconds_of(uint64_t n) {
    std::vector<thread_times> found(static_cast<size_t>(options_.threads));
    team_.run([&](int thread) {
      thread_times& own = found[static_cast<size_t>(thread)];
      own.end = run(thread, n, nullptr, &own.begin);
    });
    return times_of_rank(found, n).longest;
  }

  times times_of_rank(const std::vector<thread_times>& found, uint64_t n) const {
    times own;
    uint64_t first = std::numeric_limits<uint64_t>::max();
    uint64_t last = 0;
    // A target of puts and gets has no times of its own for each of them.
    const bool has_mean =
        options_.test == test_kind::latency && (!is_one_sided(options_.op) || job_.is_initiator());
    for (const thread_times& one : found) {
      own.samples.add(one.samples);
      first = std::min(first, one.begin);
      last = std::max(last, one.end);
      if (!has_mean) continue;
      own.mean_total += one.end - one.begin;
      own.mean_steps += n;
    }
    own.longest = last - first;
    return own;
  }

  // Of all ranks.
  uint64_t messages(uint64_t n) const {
    const bool both = is_pingpong(options_) || options_.test == test_kind::bibandwidth;
    return n * static_cast<uint64_t>(options_.window) * static_cast<uint64_t>(options_.threads) *
           static_cast<uint64_t>(job_.ranks()) / (both ? 1 : 2);
  }

  const options& options_;
  job job_;
  team team_;
  channels channels_;
  const std::unique_ptr<pattern> pattern_;
};

}  // namespace

void measure_messages(const options& chosen, const standing* bound, const report& output) {
  messages_test test(chosen, bound);
  for (const size_t size : chosen.sizes) {
    const figures result = test.measure(size);
    if (lci::get_rank_me() == 0) output(result);
  }
  lci::barrier();  // no rank takes its memory away while others still use it
}

}  // namespace perf
