#include "benchmarks/perf/perf.h"

#include <cstdio>
#include <string>

#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/job.h"
#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/output.h"
#include "benchmarks/perf/program.h"
#include "lci.hpp"
#include "lci/api/config.hpp"

namespace perf {
namespace {

surroundings look_around(const options& chosen) {
  const lci::net_context_t network = lci::get_default_net_context();
  surroundings where;
  where.chosen = chosen;
  where.version = LCI_VERSION_STRING;
  where.backend = chosen.backend == "auto" ? name_of(network.get_attr_backend()) : chosen.backend;
  where.device = network.get_attr_device_name();
  where.processor = processor_name();
  where.ranks = lci::get_rank_n();
  where.clock_ns = cost_of_now();
  return where;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void measure(const options& chosen) {
  waiter::yield_after(chosen.yield);
  const standing row = find_standing(chosen.threads);  // collective
  const surroundings where = look_around(chosen);
  if (lci::get_rank_me() == 0) print(header(where));
  const auto output = [&where](const figures& result) { print(line(where, result)); };
  const standing* const bound = chosen.bind == binding::core ? &row : nullptr;
  if (chosen.test == test_kind::connect) {
    measure_connections(chosen, bound, output);
  } else if (is_collective(chosen.op)) {
    measure_collectives(chosen, bound, output);
  } else {
    measure_messages(chosen, bound, output);
  }
}

}  // namespace

int run_perf(const options& chosen) {
  return run_program(
      "lci_perf", chosen.backend, describe(chosen), [&chosen] { measure(chosen); },
      /*in_pairs=*/!is_collective(chosen.op));
}

}  // namespace perf
