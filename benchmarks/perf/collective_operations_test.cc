// lci_perf with collective operations, started by lcrun, and judged by what it prints.
#include <string>
#include <vector>

#include "benchmarks/perf/launched.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> operations = {
    "barrier", "broadcast", "reduce", "allreduce", "reduce_scatter",  "allgather",  "alltoall",
    "gather",  "scatter",   "scan",   "exscan",    "reduce_scatterv", "allgatherv", "alltoallv"};

outcome run(int ranks, const std::string& arguments) {
  return run_launched(ranks, "benchmarks/perf/lci_perf", arguments);
}

// A barrier has no size.
std::string sized(const std::string& op, const std::string& size) {
  return "--op " + op + (op == "barrier" ? "" : " --size " + size);
}

// Any number of ranks, with results that are checked.
TEST(collective_operations, are_measured_on_any_number_of_ranks) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::string& op : operations) {
      const outcome result =
          run(ranks, sized(op, "8:128K") + " --iters 20 --validate --format json");
      SCOPED_TRACE(op + ", ranks: " + std::to_string(ranks));
      ASSERT_EQ(result.code, 0) << result.text;
      const std::vector<std::string> lines = lines_of(result.text);
      const bool is_barrier = op == "barrier";
      ASSERT_EQ(lines.size(), is_barrier ? 1U : 15U) << result.text;
      const json_object line(lines.back());
      EXPECT_EQ(line.text("op"), op);
      EXPECT_EQ(line.number("ranks"), ranks);
      EXPECT_EQ(line.number("size"), is_barrier ? 0 : 131072);
      EXPECT_EQ(line.number("iterations"), 20);
      EXPECT_EQ(line.text("persistent"), "false");
      EXPECT_GT(line.number("latency_us_mean"), 0);
    }
  }
}

// Recorded once, started for each measured call, with results that are checked.
TEST(collective_operations, are_measured_as_persistent_ones) {
  for (const int ranks : {1, 3}) {
    for (const std::string& op : operations) {
      const outcome result =
          run(ranks, sized(op, "32K:64K") + " --persistent --iters 20 --validate --format json");
      SCOPED_TRACE(op + ", ranks: " + std::to_string(ranks));
      ASSERT_EQ(result.code, 0) << result.text;
      const std::vector<std::string> lines = lines_of(result.text);
      ASSERT_EQ(lines.size(), op == "barrier" ? 1U : 2U) << result.text;
      const json_object line(lines.back());
      EXPECT_EQ(line.text("op"), op);
      EXPECT_EQ(line.text("persistent"), "true");
      EXPECT_GT(line.number("latency_us_mean"), 0);
    }
  }
}

// The parts of a time add up to it, and the overlap is what follows from the times.
void expect_consistent_overlap(const json_object& line) {
  const double pure = line.number("latency_us_mean");
  const double total = line.number("total_us");
  const double compute = line.number("compute_us");
  EXPECT_GT(pure, 0);
  EXPECT_GT(compute, 0);
  // Six digits are printed.
  EXPECT_NEAR(
      total,
      line.number("start_us") + compute + line.number("progress_us") + line.number("wait_us"),
      1e-5 * total);
  const double expected = 100 * (1 - (total - compute) / pure);
  EXPECT_NEAR(line.number("overlap_percent"), expected > 0 ? expected : 0,
              1e-3 * (total + compute) / pure);
  EXPECT_LE(line.number("overlap_percent"), 100);
}

TEST(collective_operations, overlap_with_computation) {
  for (const int ranks : {1, 3}) {
    for (const std::string& op : operations) {
      for (const std::string how : {"", " --persistent --progress-calls 5"}) {
        const outcome result = run(
            ranks, sized(op, "64K") + " --overlap" + how + " --iters 20 --validate --format json");
        SCOPED_TRACE(op + how + ", ranks: " + std::to_string(ranks));
        ASSERT_EQ(result.code, 0) << result.text;
        const json_object line(lines_of(result.text).back());
        EXPECT_EQ(line.text("op"), op);
        EXPECT_EQ(line.text("persistent"), how.empty() ? "false" : "true");
        EXPECT_EQ(line.number("progress_calls"), how.empty() ? 0 : 5);
        EXPECT_EQ(line.number("progress_us") > 0, !how.empty());
        EXPECT_EQ(line.number("iterations"), 20);
        expect_consistent_overlap(line);
      }
    }
  }
}

TEST(collective_operations, overlap_is_measured_for_a_time) {
  const outcome result = run(2, "--overlap --op allreduce --size 8:16 --time 0.02 --format csv");
  ASSERT_EQ(result.code, 0) << result.text;
  const std::vector<std::string> lines = lines_of(result.text);
  ASSERT_EQ(lines.size(), 3U) << result.text;
  EXPECT_THAT(lines[0], HasSubstr(",persistent,read,progress_calls,overlap_percent,total_us,"));
  EXPECT_THAT(lines[1], StartsWith("allreduce,latency,8,"));
}

// Each thread calls the operation, and checks its result.
TEST(collective_operations, are_measured_with_several_threads) {
  for (const int ranks : {1, 3}) {
    for (const std::string op : {"barrier", "broadcast", "reduce", "allreduce"}) {
      const outcome result = run(ranks, "--op " + op + (op == "barrier" ? "" : " --size 64K") +
                                            " --threads 3 --iters 20 --validate --format json");
      SCOPED_TRACE(op + ", ranks: " + std::to_string(ranks));
      ASSERT_EQ(result.code, 0) << result.text;
      const json_object line(lines_of(result.text).back());
      EXPECT_EQ(line.text("op"), op);
      EXPECT_EQ(line.number("threads"), 3);
      EXPECT_GT(line.number("latency_us_mean"), 0);
    }
  }
}

}  // namespace
}  // namespace perf
