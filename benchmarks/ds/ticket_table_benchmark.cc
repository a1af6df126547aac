// Tickets of rendezvous: every thread takes a number of them and gives them back, oldest first.
#include "lci/ds/ticket_table.h"

#include <cstdint>
#include <vector>

#include "benchmarks/ds/probe.h"

namespace lci::ds {
namespace {

void InsertTake(benchmark::State& state) {
  using table_type = ticket_table<int, 31>;
  const shared_object<table_type> table(state, [] { return std::make_unique<table_type>(); });
  const auto in_flight = static_cast<size_t>(state.range(0));
  std::vector<uint32_t> tickets(in_flight, 0);
  int value = 0;
  size_t i = 0;
  for (auto _ : state) {
    uint32_t& ticket = tickets[i++ % in_flight];
    if (i > in_flight) benchmark::DoNotOptimize(table.get().take(ticket, 0));
    ticket = table.get().insert(&value, 0);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(InsertTake)->Arg(1)->Arg(64)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
