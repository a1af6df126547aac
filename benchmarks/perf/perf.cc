#include "benchmarks/perf/perf.h"

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/output.h"
#include "lci.hpp"
#include "lci/version.h"

namespace perf {
namespace {

constexpr int exit_good = 0;
constexpr int exit_usage = 2;

// Why this job can't be measured; empty: it can. The same in all ranks.
std::string problem_of_job(const options& chosen) {
  const int ranks = lci::get_rank_n();
  if (ranks % 2 != 0) {
    return absl::StrCat("started with ", ranks, ranks == 1 ? " rank" : " ranks",
                        ", but ranks communicate in pairs: lcrun -n 2 lci_perf");
  }
  const uint64_t own = std::hash<std::string>()(describe(chosen));
  std::vector<uint64_t> everybody(static_cast<size_t>(ranks));
  lci::allgather(&own, everybody.data(), sizeof(own));
  for (int rank = 1; rank < ranks; ++rank) {
    if (everybody[static_cast<size_t>(rank)] != everybody[0]) {
      return absl::StrCat("rank ", rank, " was started with other options than rank 0");
    }
  }
  return "";
}

surroundings look_around(const options& chosen) {
  const lci::net_context_t network = lci::get_default_net_context();
  surroundings where;
  where.chosen = chosen;
  where.version = lci::version_string;
  where.backend = name_of(network.get_attr_backend());
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
  const standing row = find_standing(chosen.threads);  // collective
  const surroundings where = look_around(chosen);
  if (lci::get_rank_me() == 0) print(header(where));
  const auto tell = [&where](const figures& result) { print(line(where, result)); };
  const standing* const bound = chosen.bind == binding::core ? &row : nullptr;
  if (chosen.test == test_kind::connect) {
    measure_connections(chosen, bound, tell);
  } else {
    measure_messages(chosen, bound, tell);
  }
}

}  // namespace

int run_perf(const options& chosen) {
  lci::global_initialize();
  if (chosen.backend != lci::attr_backend_t::none) {
    lci::global_attr_t attributes = lci::get_g_default_attr();
    attributes.backend = chosen.backend;
    lci::set_g_default_attr(attributes);
  }
  try {
    lci::g_runtime_init();
  } catch (const std::exception& error) {
    if (chosen.backend == lci::attr_backend_t::none) throw;
    throw std::runtime_error(
        absl::StrCat("--backend ", name_of(chosen.backend), ": ", error.what()));
  }
  const std::string problem = problem_of_job(chosen);
  if (problem.empty()) {
    measure(chosen);
  } else if (lci::get_rank_me() == 0) {
    std::fprintf(stderr, "lci_perf: %s\n", problem.c_str());
  }
  lci::g_runtime_fina();
  lci::global_finalize();
  return problem.empty() ? exit_good : exit_usage;
}

int say_once(const std::string& help, const std::string& problem) {
  lci::g_runtime_init();
  if (lci::get_rank_me() == 0) {
    std::fputs(help.c_str(), stdout);
    if (!problem.empty()) std::fprintf(stderr, "lci_perf: %s\n", problem.c_str());
    std::fflush(nullptr);
  }
  lci::g_runtime_fina();
  return problem.empty() ? exit_good : exit_usage;
}

}  // namespace perf
