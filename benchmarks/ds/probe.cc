#include "benchmarks/ds/probe.h"

#include <atomic>
#include <cstdint>

namespace lci::ds {
namespace {

struct alignas(128) line {
  std::atomic<uint64_t> count{0};
};
line shared;
line own[64];

void ProbeFetchAddShared(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(shared.count.fetch_add(1));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ProbeFetchAddShared)->Apply(with_threads);

void ProbeFetchAddPrivate(benchmark::State& state) {
  line& mine = own[state.thread_index() % 64];
  for (auto _ : state) benchmark::DoNotOptimize(mine.count.fetch_add(1));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ProbeFetchAddPrivate)->Apply(with_threads);

// Every thread adds one by compare-and-swap, until it succeeds.
void ProbeCasShared(benchmark::State& state) {
  for (auto _ : state) {
    uint64_t seen = shared.count.load(std::memory_order_relaxed);
    while (!shared.count.compare_exchange_weak(seen, seen + 1)) {
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ProbeCasShared)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
