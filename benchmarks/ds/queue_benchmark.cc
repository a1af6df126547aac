// Completion queues: every thread pushes a value as large as a status (40 bytes) and pops one.
#include <cstdint>

#include "benchmarks/ds/probe.h"
#include "lci/base/backoff.h"
#include "lci/ds/array_queue.h"
#include "lci/ds/lcrq.h"

namespace lci::ds {
namespace {

struct value {
  uint64_t words[5];
};

template <template <class> class Cell>
void LcrqPushPop(benchmark::State& state) {
  using Queue = lcrq<value, std_atomics, Cell>;
  const shared_object<Queue> queue(state, [] { return std::make_unique<Queue>(); });
  value v = {};
  base::backoff wait;
  for (auto _ : state) {
    queue.get().push(v);
    while (!queue.get().try_pop(&v)) wait.idle();
    wait.reset();
  }
  state.SetItemsProcessed(state.iterations());
}
#ifdef LCI_DS_HAS_WIDE_ATOMIC
BENCHMARK_TEMPLATE(LcrqPushPop, wide_cell)->Apply(with_threads);
#endif
BENCHMARK_TEMPLATE(LcrqPushPop, narrow_cell)->Apply(with_threads);

void ArrayPushPop(benchmark::State& state) {
  using Queue = array_queue<value>;
  const shared_object<Queue> queue(state, [] { return std::make_unique<Queue>(8192); });
  value v = {};
  base::backoff wait;
  for (auto _ : state) {
    while (!queue.get().try_push(v)) wait.idle();
    while (!queue.get().try_pop(&v)) wait.idle();
    wait.reset();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ArrayPushPop)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
