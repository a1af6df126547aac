#include "benchmarks/perf/program.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/perf/options.h"

namespace perf {
namespace {

constexpr int exit_good = 0;
constexpr int exit_usage = 2;
constexpr char backend_variable[] = "LCI_ATTR_BACKEND";

// Why this job can't be measured; empty: it can. The same in all ranks.
std::string problem_of_job(const char* program, const std::string& described, bool in_pairs) {
  const int ranks = lci::get_rank_n();
  if (in_pairs && ranks % 2 != 0) {
    return absl::StrCat("started with ", ranks, ranks == 1 ? " rank" : " ranks",
                        ", but ranks communicate in pairs: lcrun -n 2 ", program);
  }
  const uint64_t own = std::hash<std::string>()(described);
  std::vector<uint64_t> everybody(static_cast<size_t>(ranks));
  lci::allgather(&own, everybody.data(), sizeof(own));
  for (int rank = 1; rank < ranks; ++rank) {
    if (everybody[static_cast<size_t>(rank)] != everybody[0]) {
      return absl::StrCat("rank ", rank, " was started with other options than rank 0");
    }
  }
  return "";
}

}  // namespace

int run_main(const char* program, const std::function<int()>& body) {
  try {
    const int code = body();
    const int unwritten = lci::cli::print(program, "");
    return code != 0 ? code : unwritten;
  } catch (const usage_error& error) {
    return say_once(program, "", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return EXIT_FAILURE;
  }
}

int run_program(const char* program, const std::string& backend, const std::string& described,
                const std::function<void()>& measure, bool in_pairs) {
  const bool is_chosen = backend != "auto";
  const std::string option = absl::StrCat("--backend ", backend, ": ");
  if (is_chosen) setenv(backend_variable, backend.c_str(), 1);
  try {
    lci::global_initialize();
  } catch (const std::invalid_argument& error) {
    // The error lists the backends of the library. LCI is initialized without, to say that once.
    if (!is_chosen || !absl::StrContains(error.what(), backend_variable)) throw;
    unsetenv(backend_variable);
    throw usage_error(option + error.what());
  }
  try {
    lci::g_runtime_init();
  } catch (const std::exception& error) {
    if (!is_chosen) throw;
    throw std::runtime_error(option + error.what());
  }
  const std::string problem = problem_of_job(program, described, in_pairs);
  if (problem.empty()) {
    measure();
  } else if (lci::get_rank_me() == 0) {
    std::fprintf(stderr, "%s: %s\n", program, problem.c_str());
  }
  lci::g_runtime_fina();
  lci::global_finalize();
  return problem.empty() ? exit_good : exit_usage;
}

int say_once(const char* program, const std::string& answer, const std::string& problem) {
  lci::g_runtime_init();
  if (lci::get_rank_me() == 0) {
    std::fputs(answer.c_str(), stdout);
    if (!problem.empty()) std::fprintf(stderr, "%s: %s\n", program, problem.c_str());
    std::fflush(nullptr);
  }
  lci::g_runtime_fina();
  return problem.empty() ? exit_good : exit_usage;
}

}  // namespace perf
