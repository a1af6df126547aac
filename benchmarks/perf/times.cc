// Bringing the times of the ranks together.
#include <algorithm>
#include <iterator>
#include <vector>

#include "benchmarks/perf/duration.h"
#include "benchmarks/perf/measure.h"

namespace perf {
namespace {

void add(const void* left, const void* right, void* result, size_t n) {
  const auto* a = static_cast<const uint64_t*>(left);
  const auto* b = static_cast<const uint64_t*>(right);
  auto* to = static_cast<uint64_t*>(result);
  for (size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

void take_larger(const void* left, const void* right, void* result, size_t n) {
  const auto* a = static_cast<const uint64_t*>(left);
  const auto* b = static_cast<const uint64_t*>(right);
  auto* to = static_cast<uint64_t*>(result);
  for (size_t i = 0; i < n; ++i) to[i] = std::max(a[i], b[i]);
}

}  // namespace

times combined(const times& own) {
  std::vector<uint64_t> sums = own.samples.sums();
  const size_t in_histogram = sums.size();
  sums.push_back(own.mean_total);
  sums.push_back(own.mean_steps);
  sums.push_back(own.cpu.user_ns);
  sums.push_back(own.cpu.system_ns);
  std::vector<uint64_t> all_sums(sums.size());
  lci::reduce(sums.data(), all_sums.data(), sums.size(), sizeof(uint64_t), add, 0);
  const uint64_t largest[] = {own.samples.max(), own.longest};
  uint64_t all_largest[2] = {};
  lci::reduce(largest, all_largest, 2, sizeof(uint64_t), take_larger, 0);

  times all;
  all.samples = histogram::from(all_sums, all_largest[0]);
  all.mean_total = all_sums[in_histogram];
  all.mean_steps = all_sums[in_histogram + 1];
  all.longest = all_largest[1];
  all.cpu = {all_sums[in_histogram + 2], all_sums[in_histogram + 3]};
  return all;
}

overlap_times combined(const overlap_times& own) {
  const uint64_t each[] = {own.pure, own.total, own.start, own.compute, own.progress, own.wait};
  uint64_t sums[std::size(each)] = {};
  lci::reduce(each, sums, std::size(each), sizeof(uint64_t), add, 0);
  overlap_times all;
  all.pure = sums[0];
  all.total = sums[1];
  all.start = sums[2];
  all.compute = sums[3];
  all.progress = sums[4];
  all.wait = sums[5];
  return all;
}

uint64_t largest_of_ranks(uint64_t own) {
  uint64_t all = 0;
  lci::allreduce(&own, &all, 1, sizeof(uint64_t), take_larger);
  return all;
}

run_counts counts_for(const options& chosen, size_t size,
                      const std::function<uint64_t(uint64_t n)>& run) {
  if (chosen.seconds == 0) return {warmup_for(chosen, size), iterations_for(chosen, size)};
  run_counts counts;
  counts.measured =
      iterations_in(chosen.seconds, [&run](uint64_t n) { return largest_of_ranks(run(n)); });
  if (chosen.warmup > 0) counts.warmup = static_cast<uint64_t>(chosen.warmup);
  return counts;
}

figures figures_from(const times& all, size_t size, uint64_t iterations, uint64_t messages,
                     int samples_per_latency) {
  const double us = 1e-3 / samples_per_latency;
  const auto percentile = [&](double part) {
    return us * static_cast<double>(all.samples.percentile(part));
  };
  figures result;
  result.size = size;
  result.iterations = iterations;
  result.latency_us_mean = us * (all.mean_steps > 0 ? static_cast<double>(all.mean_total) /
                                                          static_cast<double>(all.mean_steps)
                                                    : all.samples.mean());
  result.latency_us_p50 = percentile(0.5);
  result.latency_us_p90 = percentile(0.9);
  result.latency_us_p99 = percentile(0.99);
  result.latency_us_p999 = percentile(0.999);
  result.latency_us_max = us * static_cast<double>(all.samples.max());
  const double seconds = 1e-9 * static_cast<double>(std::max<uint64_t>(1, all.longest));
  result.messages_per_s = static_cast<double>(messages) / seconds;
  result.bytes_per_s = result.messages_per_s * static_cast<double>(size);
  const auto us_per_message = [messages](uint64_t ns) {
    return 1e-3 * static_cast<double>(ns) / static_cast<double>(messages);
  };
  result.cpu_user_us = us_per_message(all.cpu.user_ns);
  result.cpu_system_us = us_per_message(all.cpu.system_ns);
  return result;
}

}  // namespace perf
