// Matching: every thread inserts a send and then a receive with the same key, which no other thread
// uses, so that each pair of insertions leaves the table as it was. A rate is of insertions.
#include "lci/ds/matching_table.h"

#include <cstdint>

#include "benchmarks/ds/probe.h"

namespace lci::ds {
namespace {

// How many keys a thread goes through before it begins again: 1 finds its bucket in the cache
// always; 2^16 touches every bucket.
void Insert(benchmark::State& state) {
  using type = matching_table::entry_type;
  const shared_object<matching_table> table(state,
                                            [] { return std::make_unique<matching_table>(); });
  const auto keys = static_cast<uint64_t>(state.range(0));
  const uint64_t first = static_cast<uint64_t>(state.thread_index()) << 32;
  int value = 0;
  uint64_t i = 0;
  for (auto _ : state) {
    const uint64_t key = first + (i++ & (keys - 1));
    benchmark::DoNotOptimize(table.get().insert(key, &value, type::send));
    benchmark::DoNotOptimize(table.get().insert(key, &value, type::recv));
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(Insert)->Arg(1)->Arg(1 << 10)->Arg(1 << 16)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
