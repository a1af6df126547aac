#include "examples/poisson/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/poisson/solver.h"

namespace poisson {
namespace {

// Tolerance: transforms in another order may differ by this much. The largest numbers are about 4.
constexpr double most_difference = 1e-10;
// Iterations whose time is not counted: memory is touched for the first time.
constexpr int most_first_iterations = 2;

struct result {
  process_grid processes;
  double seconds = 0;  // of an iteration
  double rest = 0;
  double error = 0;
  double difference = 0;                      // to the sequential solution
  std::array<double, kinds_of_work> spent{};  // of an iteration: mean of the ranks' largest
};

decomposition divide(const options& chosen, const transport& network) {
  const process_grid processes = chosen.processes.value_or(choose_process_grid(network.ranks()));
  if (static_cast<long long>(processes.y) * processes.z != network.ranks()) {
    throw usage_error(absl::StrCat("--processes ", processes.y, "x", processes.z, ": there are ",
                                   network.ranks(), " ranks"));
  }
  try {
    return decomposition(chosen.grid, processes, network.rank(), chosen.slabs);
  } catch (const std::invalid_argument& error) {
    throw usage_error(error.what());
  }
}

// The largest difference to the solution of a run without other ranks.
double compare_with_sequential(const options& chosen, const decomposition& part,
                               const problem& input, const solver& solved) {
  local_transport alone;
  work_clock clock;
  const decomposition whole(chosen.grid, {1, 1}, 0, 1);
  solver sequential(whole, input, planning::estimate, alone, clock);
  sequential.run(chosen.iterations);
  double largest = 0;
  for (int l = part.z().begin; l < part.z().end; ++l) {
    for (int j = part.y().begin; j < part.y().end; ++j) {
      for (int i = 0; i < chosen.grid.x; ++i) {
        const double difference =
            std::abs(solved.potential(i, j, l) - sequential.potential(i, j, l));
        // Also where it is not a number.
        if (!(difference <= largest)) largest = difference;
      }
    }
  }
  return largest;
}

result measure(const options& chosen, transport& network) {
  const decomposition part = divide(chosen, network);
  const problem input(chosen.grid, chosen.contrast);
  work_clock clock;
  solver solved(part, input, chosen.plan, network, clock);
  const int first = std::min(most_first_iterations, chosen.iterations - 1);
  if (first > 0) solved.run(first);
  const int counted = chosen.iterations - first;
  network.barrier();
  clock.reset();
  const auto begin = std::chrono::steady_clock::now();
  solved.run(counted);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  result found;
  found.processes = part.processes();
  found.seconds = network.maximum(spent.count()) / counted;
  for (size_t i = 0; i < kinds_of_work; ++i) {
    found.spent[i] = network.maximum(clock.spent()[i]) / counted;
  }
  found.rest = network.maximum(solved.rest());
  found.error = network.maximum(solved.error());
  if (chosen.check) {
    found.difference = network.maximum(compare_with_sequential(chosen, part, input, solved));
  }
  network.barrier();
  return found;
}

std::string text_of(const options& chosen, const std::string& program, int ranks,
                    const result& found) {
  std::string text = absl::StrFormat(
      "%s %s: %d x %d x %d points, %d rank%s (%d x %d), %d slab%s: %.1f us an iteration\n"
      "after %d iterations: rest %.3g, error %.3g\n",
      program, chosen.mode, chosen.grid.x, chosen.grid.y, chosen.grid.z, ranks,
      ranks == 1 ? "" : "s", found.processes.y, found.processes.z, chosen.slabs,
      chosen.slabs == 1 ? "" : "s", found.seconds * 1e6, chosen.iterations, found.rest,
      found.error);
  if (chosen.check) {
    absl::StrAppendFormat(&text, "difference to the sequential solution %.3g\n", found.difference);
  }
  if (chosen.report) {
    absl::StrAppend(&text, "us an iteration, of the rank that spends most on it:\n");
    for (size_t i = 0; i < kinds_of_work; ++i) {
      absl::StrAppendFormat(&text, "  %-12s %10.1f\n", names_of_work[i], found.spent[i] * 1e6);
    }
  }
  return text;
}

std::string json_of(const options& chosen, const std::string& program, int ranks,
                    const result& found) {
  std::string text =
      absl::StrFormat(R"({"program": "%s", "mode": "%s", "grid": [%d, %d, %d], "ranks": %d, )"
                      R"("processes": [%d, %d], "slabs": %d, "iterations": %d, "contrast": %g, )"
                      R"("us_per_iteration": %.3f, "rest": %.6g, "error": %.6g)",
                      program, chosen.mode, chosen.grid.x, chosen.grid.y, chosen.grid.z, ranks,
                      found.processes.y, found.processes.z, chosen.slabs, chosen.iterations,
                      chosen.contrast, found.seconds * 1e6, found.rest, found.error);
  if (chosen.check) absl::StrAppendFormat(&text, R"(, "difference": %.6g)", found.difference);
  if (chosen.report) {
    for (size_t i = 0; i < kinds_of_work; ++i) {
      absl::StrAppendFormat(&text, R"(, "us_%s": %.3f)", names_of_work[i], found.spent[i] * 1e6);
    }
  }
  return text + "}\n";
}

}  // namespace

outcome run(const options& chosen, const std::string& program, transport& network) {
  const result found = measure(chosen, network);
  // Not `>`, which is false of what is not a number.
  if (chosen.check && !(found.difference <= most_difference)) {
    return {false, absl::StrFormat("the solution differs by %.3g from the sequential one",
                                   found.difference)};
  }
  return {true, chosen.json ? json_of(chosen, program, network.ranks(), found)
                            : text_of(chosen, program, network.ranks(), found)};
}

}  // namespace poisson
