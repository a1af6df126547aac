// The test connect: how long it takes until a program can communicate.
#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/channels.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/measure.h"

namespace perf {
namespace {

// The first message of a channel and, unless it is one-sided, the partner's.
void exchange(channel& way, bool is_initiator, bool is_target) {
  if (is_initiator) way.post_batch(0);
  if (is_target && way.target_learns()) {
    way.wait_until([&way] { return way.batch_has_arrived(0); });
    way.check_batch(0);
  }
  if (is_initiator) {
    way.wait_until([&way] { return way.batch_is_complete(0); });
  }
}

// Returns the nanoseconds from the first call to the last first message.
uint64_t connect_once(const options& chosen) {
  lci::barrier();
  const uint64_t begin = now();
  lci::runtime_t runtime = lci::alloc_runtime();
  uint64_t end = 0;
  {
    const job own(runtime, chosen.device_count);
    channels all(own, chosen);
    for (int thread = 0; thread < chosen.threads; ++thread) {
      all.make(thread);
      all.of(thread).set_size(chosen.sizes.back());
      all.of(thread).expect_batch(0);
    }
    all.connect();
    const bool both = !is_one_sided(chosen.op);
    for (int thread = 0; thread < chosen.threads; ++thread) {
      exchange(all.of(thread), both || own.is_initiator(), both || !own.is_initiator());
    }
    end = now();
    lci::barrier_x().runtime(runtime)();
  }
  lci::free_runtime(&runtime);
  return end - begin;
}

}  // namespace

void measure_connections(const options& chosen, const standing* bound, const report& output) {
  if (bound != nullptr) bind_this_thread(*bound, 0);
  for (const size_t size : chosen.sizes) {
    options of_this_size = chosen;
    of_this_size.sizes = {size};
    const auto connect = [&of_this_size](uint64_t count) {
      histogram samples;
      for (uint64_t i = 0; i < count; ++i) samples.add(connect_once(of_this_size));
      return samples;
    };
    const run_counts counts =
        counts_for(chosen, size, [&connect](uint64_t count) { return connect(count).sum(); });
    const uint64_t n = counts.measured;
    connect(counts.warmup);
    const cpu_time before = used_cpu_time();
    times own;
    own.samples = connect(n);
    own.longest = own.samples.sum();
    own.cpu = used_cpu_time() - before;
    const uint64_t connections =
        n * static_cast<uint64_t>(chosen.threads) * static_cast<uint64_t>(lci::get_rank_n()) / 2;
    const figures result = figures_from(combined(own), size, n, connections, 1);
    if (lci::get_rank_me() == 0) output(result);
  }
}

}  // namespace perf
