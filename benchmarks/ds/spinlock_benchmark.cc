// The lock around one addition: one for all threads, and one for each thread.
#include "lci/ds/spinlock.h"

#include <cstdint>
#include <mutex>

#include "benchmarks/ds/probe.h"

namespace lci::ds {
namespace {

struct alignas(128) counter {
  spinlock lock;
  uint64_t count = 0;
};
counter shared;
counter own[64];

void add(benchmark::State& state, counter& to) {
  for (auto _ : state) {
    const std::lock_guard<spinlock> guard(to.lock);
    benchmark::DoNotOptimize(++to.count);
  }
  state.SetItemsProcessed(state.iterations());
}

void LockShared(benchmark::State& state) { add(state, shared); }
BENCHMARK(LockShared)->Apply(with_threads);

void LockPrivate(benchmark::State& state) { add(state, own[state.thread_index() % 64]); }
BENCHMARK(LockPrivate)->Apply(with_threads);

void TryLockShared(benchmark::State& state) {
  int64_t taken = 0;
  for (auto _ : state) {
    if (!shared.lock.try_lock()) continue;
    benchmark::DoNotOptimize(++shared.count);
    shared.lock.unlock();
    ++taken;
  }
  state.SetItemsProcessed(taken);
}
BENCHMARK(TryLockShared)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
