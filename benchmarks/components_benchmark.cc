// The components as a program uses them, through the public interface: packets, matching, and
// completion queues. The probe (benchmarks/ds/probe.h) measures the cost of raw atomic operations
// in the same run.
//
//   bazel run //benchmarks:components_benchmark -- --benchmark_repetitions=9
#include <cstdint>

#include "benchmarks/ds/probe.h"
#include "lci/api/lci.hpp"

namespace lci {
namespace {

using ds::with_threads;

// Every thread takes a packet and gives it back. A rate is of pairs.
void PacketGetPut(benchmark::State& state) {
  int64_t gotten = 0;
  const packet_pool_t pool = get_default_packet_pool();
  for (auto _ : state) {
    void* packet = get_upacket_x().packet_pool(pool)();
    if (packet == nullptr) continue;
    put_upacket(packet);
    ++gotten;
  }
  state.SetItemsProcessed(gotten);
}
BENCHMARK(PacketGetPut)->Apply(with_threads);

// Every thread inserts a send and then a receive with the same key, of 1024 that no other thread
// uses. A rate is of insertions.
void MatchingInsert(benchmark::State& state) {
  const matching_engine_t engine = get_default_matching_engine();
  const uint64_t first = static_cast<uint64_t>(state.thread_index() + 1) << 32;
  int value = 0;
  uint64_t i = 0;
  for (auto _ : state) {
    const uint64_t key = first + (i++ & 1023);
    benchmark::DoNotOptimize(
        matching_engine_insert(engine, key, &value, matching_entry_type_t::send));
    benchmark::DoNotOptimize(
        matching_engine_insert(engine, key, &value, matching_entry_type_t::recv));
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(MatchingInsert)->Apply(with_threads);

// Every thread pushes a status and pops one. A rate is of pairs.
void queue_push_pop(benchmark::State& state, attr_cq_type_t type) {
  struct owned_queue {
    explicit owned_queue(attr_cq_type_t of) : comp(alloc_cq_x().cq_type(of)()) {}
    ~owned_queue() { free_comp(&comp); }
    comp_t comp;
  };
  const ds::shared_object<owned_queue> queue(
      state, [type] { return std::make_unique<owned_queue>(type); });
  const status_t status(errorcode_t::done);
  for (auto _ : state) {
    comp_signal(queue.get().comp, status);
    while (cq_pop(queue.get().comp).is_retry()) {
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(queue_push_pop, Lcrq, attr_cq_type_t::lcrq)->Apply(with_threads);
BENCHMARK_CAPTURE(queue_push_pop, Array, attr_cq_type_t::array_atomic)->Apply(with_threads);

}  // namespace
}  // namespace lci

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  lci::g_runtime_init();
  benchmark::RunSpecifiedBenchmarks();
  lci::g_runtime_fina();
  return 0;
}
