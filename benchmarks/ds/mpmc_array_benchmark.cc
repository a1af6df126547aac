// The array that is read all the time: reads by every thread, and reads while one in 1024
// operations writes.
#include "lci/ds/mpmc_array.h"

#include <cstddef>
#include <cstdint>

#include "benchmarks/ds/probe.h"

namespace lci::ds {
namespace {

constexpr size_t elements = 1024;

std::unique_ptr<mpmc_array<uint64_t>> make_array() {
  auto made = std::make_unique<mpmc_array<uint64_t>>();
  for (size_t i = 0; i < elements; ++i) made->set(i, i);
  return made;
}

void Get(benchmark::State& state) {
  const shared_object<mpmc_array<uint64_t>> array(state, make_array);
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(array.get().get(i++ % elements));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Get)->Apply(with_threads);

void GetAndSometimesSet(benchmark::State& state) {
  const shared_object<mpmc_array<uint64_t>> array(state, make_array);
  size_t i = 0;
  for (auto _ : state) {
    if (++i % 1024 == 0) array.get().set(i / 1024 % elements, i);
    benchmark::DoNotOptimize(array.get().get(i % elements));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(GetAndSometimesSet)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
