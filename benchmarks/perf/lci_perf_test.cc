// lci_perf as its users meet it: started by lcrun, and judged by what it prints and its exit code.
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/perf/launched.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/api/config.hpp"

namespace perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

outcome run(int ranks, const std::string& arguments,
            const std::string& program = "benchmarks/perf/lci_perf") {
  return run_launched(ranks, program, arguments);
}

struct measurement {
  std::string op;
  std::string test;
  std::string completion;
  int ranks;
  int threads;
  std::string devices;
};

bool is_atomic(const std::string& op) {
  return op == "add" || op == "bit_and" || op == "bit_or" || op == "bit_xor" || op == "fetch_add" ||
         op == "swap" || op == "compare_swap";
}

// Runs it with --validate and checks the line of every size.
void expect_plausible(const measurement& what) {
  const bool of_integers = is_atomic(what.op);
  const std::string arguments = "--op " + what.op + " --test " + what.test + " --completion " +
                                what.completion + " --threads " + std::to_string(what.threads) +
                                " --devices " + what.devices + " --size " +
                                (of_integers ? "4:8" : "4K:16K") +
                                " --iters 3 --warmup 1 --window 5 --validate --format json";
  SCOPED_TRACE("-n " + std::to_string(what.ranks) + " " + arguments);
  const outcome result = run(what.ranks, arguments);
  ASSERT_EQ(result.code, 0) << result.text;
  const std::vector<std::string> lines = lines_of(result.text);
  ASSERT_EQ(lines.size(), of_integers ? 2U : 3U) << result.text;
  for (size_t i = 0; i < lines.size(); ++i) {
    const json_object line(lines[i]);
    EXPECT_EQ(line.text("op"), what.op);
    EXPECT_EQ(line.text("test"), what.test);
    EXPECT_EQ(line.text("devices"), what.devices);
    EXPECT_EQ(line.text("backend"), "shm");
    EXPECT_EQ(line.text("completion"), what.completion);
    EXPECT_EQ(line.number("size"), (of_integers ? 4 : 4096) << i);
    EXPECT_EQ(line.number("threads"), what.threads);
    EXPECT_EQ(line.number("ranks"), what.ranks);
    const double p50 = line.number("latency_us_p50");
    const double p99 = line.number("latency_us_p99");
    EXPECT_GT(p50, 0);
    EXPECT_LE(p50, p99);
    EXPECT_LE(p99, line.number("latency_us_max"));
    EXPECT_GT(line.number("latency_us_mean"), 0);
    const double rate = line.number("messages_per_s");
    EXPECT_GT(rate, 0);
    // Both are rounded to tenths.
    EXPECT_NEAR(line.number("bytes_per_s"), rate * line.number("size"), line.number("size") / 10);
    if (what.test == "latency") {
      // Each of so many threads has one message under way at a time, and the longest time of any of
      // them counts, which is no less than their mean; but for what rounding takes.
      const double pairs = what.ranks / 2.0 * what.threads;
      EXPECT_LE((rate - 0.05) * line.number("latency_us_mean") * 1e-6, pairs * 1.00001);
    }
  }
}

using way = std::tuple<const char*, const char*>;
class every_way : public ::testing::TestWithParam<way> {
 protected:
  const std::string op_ = std::get<0>(GetParam());
  const std::string completion_ = std::get<1>(GetParam());
};

TEST_P(every_way, measures_everything_with_one_thread) {
  for (const char* test : {"latency", "rate", "bandwidth", "bibandwidth", "connect"}) {
    expect_plausible({op_, test, completion_, 2, 1, "shared"});
  }
}

TEST_P(every_way, measures_with_more_threads_than_cores) {
  expect_plausible({op_, "latency", completion_, 2, 3, "shared"});
  expect_plausible({op_, "bibandwidth", completion_, 2, 3, "dedicated"});
  expect_plausible({op_, "rate", completion_, 2, 3, "2"});
  expect_plausible({op_, "connect", completion_, 2, 3, "2"});
}

TEST_P(every_way, measures_several_pairs) {
  expect_plausible({op_, "latency", completion_, 4, 2, "dedicated"});
  expect_plausible({op_, "bandwidth", completion_, 4, 2, "shared"});
}

// Rank 1 makes other bytes than rank 0 expects.
TEST_P(every_way, wrong_bytes_are_an_error_that_says_where) {
  for (const char* test : {"latency", "rate", "connect"}) {
    const outcome result =
        run(2,
            "--op " + op_ + " --test " + test + " --completion " + completion_ +
                " --iters 3 --validate --threads 2 --size " + (is_atomic(op_) ? "8" : "64"),
            "benchmarks/perf/disagreeing");
    EXPECT_EQ(result.code, 1) << result.text;
    if (is_atomic(op_)) {
      // The value that was fetched, or the result.
      EXPECT_THAT(result.text, AllOf(HasSubstr("rank "), HasSubstr("wrong data: ")));
      continue;
    }
    EXPECT_THAT(result.text,
                AllOf(HasSubstr("rank "), HasSubstr("wrong data: message "),
                      HasSubstr(" of 64 bytes from rank "), HasSubstr("the byte at offset 0 is")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    lci_perf, every_way,
    ::testing::Combine(::testing::Values("am", "send", "put", "put_signal", "get", "get_signal"),
                       ::testing::Values("queue", "handler", "counter", "sync")),
    [](const auto& test) {
      return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
    });
INSTANTIATE_TEST_SUITE_P(atomic, every_way,
                         ::testing::Combine(::testing::Values("add", "fetch_add", "compare_swap"),
                                            ::testing::Values("queue", "handler", "counter",
                                                              "sync")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });
INSTANTIATE_TEST_SUITE_P(more_atomic, every_way,
                         ::testing::Combine(::testing::Values("bit_and", "bit_or", "bit_xor",
                                                              "swap"),
                                            ::testing::Values("queue")));
INSTANTIATE_TEST_SUITE_P(plan, every_way, ::testing::Values(way("plan", "signal")));

TEST(lci_perf, sizes_of_nothing_one_byte_and_a_megabyte) {
  for (const std::string op : {"am", "am --buffers packet", "am --buffers packet --completion sync",
                               "send", "put", "put_signal", "get", "get_signal",
                               "put --memory allocated", "put_signal --memory allocated",
                               "get --memory allocated", "plan", "plan --memory allocated"}) {
    for (const char* size : {"0", "1", "1M"}) {
      for (const char* test : {"latency", "bandwidth"}) {
        const outcome result = run(2, "--op " + op + " --test " + test + " --size " + size +
                                          " --iters 2 --window 3 --validate --format json");
        ASSERT_EQ(result.code, 0) << op << " " << size << ": " << result.text;
        const json_object line(result.text.substr(0, result.text.find('\n')));
        EXPECT_GT(line.number("messages_per_s"), 0);
        EXPECT_EQ(line.number("bytes_per_s") > 0, line.number("size") > 0);
      }
    }
  }
}

// The calling rank maps the memory, and operates on it without a message.
TEST(lci_perf, atomic_operations_on_memory_of_the_library) {
  for (const std::string op :
       {"add", "bit_and", "bit_or", "bit_xor", "fetch_add", "swap", "compare_swap"}) {
    for (const char* test : {"latency", "bibandwidth"}) {
      const outcome result =
          run(2,
              "--memory allocated --size 4:8 --iters 3 --window 3 --validate --format json "
              "--op " +
                  op + " --test " + test);
      ASSERT_EQ(result.code, 0) << op << ": " << result.text;
      EXPECT_EQ(lines_of(result.text).size(), 2U) << result.text;
    }
  }
}

TEST(lci_perf, a_window_of_any_size) {
  for (const std::string window : {"1", "2", "3", "64"}) {
    for (const std::string op : {"am --completion sync", "plan"}) {
      const outcome result = run(
          2, "--test rate --iters 4 --validate --format json --window " + window + " --op " + op);
      ASSERT_EQ(result.code, 0) << result.text;
      EXPECT_EQ(json_object(result.text.substr(0, result.text.find('\n'))).text("window"), window);
    }
  }
}

TEST(lci_perf, text_is_a_header_and_a_line_a_size) {
  const outcome result = run(2, "--size 8:32 --iters 10 --validate --bind none");
  ASSERT_EQ(result.code, 0) << result.text;
  std::vector<std::string> sizes;
  for (const std::string& line : lines_of(result.text)) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::vector<std::string> columns;
    for (std::string word; words >> word;) columns.push_back(word);
    ASSERT_EQ(columns.size(), 9U) << line;
    sizes.push_back(columns[0]);
    // The kernel may count processor time in ticks, and so short a run may end before the first
    // tick.
    columns.resize(7);
    for (const std::string& column : columns) EXPECT_GT(std::stod(column), 0) << line;
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre("8", "16", "32"));
  EXPECT_THAT(result.text,
              AllOf(StartsWith("# LCI "), HasSubstr("backend shm, 2 ranks in 1 pair"),
                    HasSubstr("threads 1"), HasSubstr("# CPU "), HasSubstr("bind none")));
}

TEST(lci_perf, takes_the_backends_of_the_library) {
  const outcome result = run(2, "--backend shm --iters 10 --size 8 --format json");
  ASSERT_EQ(result.code, 0) << result.text;
  EXPECT_EQ(json_object(lines_of(result.text).at(0)).text("backend"), "shm");
  // One rank names those that there are.
  const outcome unknown = run(2, "--backend tofu");
  EXPECT_EQ(unknown.code, 2);
  const std::string option = "lci_perf: --backend tofu: ";
  EXPECT_THAT(unknown.text,
              AllOf(HasSubstr(option), HasSubstr("shm"), HasSubstr("mixed"), HasSubstr("sim")));
  EXPECT_EQ(unknown.text.find(option), unknown.text.rfind(option)) << unknown.text;
}

TEST(lci_perf, csv_has_as_many_values_as_names) {
  const outcome result = run(2, "--test rate --iters 10 --validate --format csv --size 8:16");
  ASSERT_EQ(result.code, 0) << result.text;
  const std::vector<std::string> lines = lines_of(result.text);
  ASSERT_EQ(lines.size(), 3U) << result.text;
  EXPECT_THAT(lines[0], StartsWith("op,test,size,"));
  EXPECT_THAT(lines[1], StartsWith("am,rate,8,1,shared,1,shm,2,queue,64,10,true,core,"));
  EXPECT_THAT(lines[2], StartsWith("am,rate,16,"));
}

// The printed fields are the ones that the plot looks for.
TEST(lci_perf, results_can_be_plotted) {
  const std::string folder = ::testing::TempDir() + "/results";
  const std::string start =
      "mkdir -p " + folder + " && tools/launcher/lcrun -n 2 benchmarks/perf/lci_perf ";
  const std::string options = " --size 8:32 --iters 10 --bind none --format ";
  const outcome result =
      run_command(start + "--op am" + options + "csv >" + folder + "/a.csv && " + start +
                  "--op plan" + options + "json >" + folder +
                  "/b.json && benchmarks/perf/lci_plot " + folder + "/a.csv " + folder + "/b.json");
  ASSERT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text,
              AllOf(StartsWith("<svg"), HasSubstr(">am, queue<"), HasSubstr(">plan, signal<"),
                    HasSubstr(">32 B<"), HasSubstr(">lci_perf: latency, shm, 2 ranks, 1 thread<")));
}

TEST(lci_perf, help_is_printed_once_and_needs_no_partner) {
  for (const int ranks : {1, 3}) {
    const outcome result = run(ranks, "--help");
    EXPECT_EQ(result.code, 0);
    const size_t first = result.text.find("usage: lcrun");
    ASSERT_NE(first, std::string::npos) << result.text;
    EXPECT_EQ(result.text.find("usage: lcrun", first + 1), std::string::npos);
  }
}

TEST(lci_perf, a_run_by_time_has_as_many_iterations_as_fit) {
  for (const std::string test : {"latency", "bandwidth --window 3", "connect"}) {
    const outcome result =
        run(2, "--time 0.05 --size 8 --validate --threads 2 --format json --test " + test);
    ASSERT_EQ(result.code, 0) << result.text;
    const json_object line(result.text.substr(0, result.text.find('\n')));
    EXPECT_GE(line.number("iterations"), 1) << test;
  }
  // By size it would be 10, and a runtime takes more than 0.1 ms.
  const outcome result = run(2, "--time 0.001 --size 8 --test connect --format json");
  ASSERT_EQ(result.code, 0) << result.text;
  EXPECT_LT(json_object(result.text.substr(0, result.text.find('\n'))).number("iterations"), 10);
}

TEST(lci_perf, processor_time_is_that_of_all_ranks) {
  const outcome result = run(4, "--size 8 --iters 2000 --format json --bind none");
  ASSERT_EQ(result.code, 0) << result.text;
  const json_object line(result.text.substr(0, result.text.find('\n')));
  // Each of the ranks polls while messages travel, unless another one has its processor.
  EXPECT_GT(line.number("cpu_user_us"), 0);
  EXPECT_GE(line.number("cpu_system_us"), 0);
}

TEST(lci_perf, the_version_is_printed_once) {
  EXPECT_EQ(run(2, "--version").text, "lci_perf (LCI) " LCI_VERSION_STRING "\n");
}

TEST(lci_perf, what_can_not_be_is_refused_with_a_reason) {
  const std::vector<std::tuple<int, std::string, std::string>> refused = {
      {2, "--op amo", "--op amo: must be am, send"},
      {2, "--devices 2", "--devices 2: must be shared, dedicated or a number from 1 to --threads"},
      {2, "--bogus", "unknown option --bogus"},
      {1, "--size 8", "started with 1 rank, but ranks communicate in pairs"},
      {3, "--size 8", "started with 3 ranks, but ranks communicate in pairs"},
  };
  for (const auto& [ranks, arguments, reason] : refused) {
    const outcome result = run(ranks, arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_THAT(result.text, HasSubstr("lci_perf: " + reason));
    // Once, and not by every rank.
    EXPECT_EQ(result.text.find(reason, result.text.find(reason) + 1), std::string::npos)
        << result.text;
  }
}

TEST(lci_perf, says_that_results_are_not_written) {
  for (const std::string arguments : {"--help", "--size 8 --iters 1"}) {
    const outcome result =
        run(2, "-c 'exec benchmarks/perf/lci_perf " + arguments + " > /dev/full'", "/bin/sh");
    EXPECT_EQ(result.code, 1) << arguments;
    EXPECT_THAT(result.text, HasSubstr("lci_perf: can't write to the standard output"));
  }
}

TEST(lci_perf, ranks_with_other_options_are_refused) {
  const outcome result =
      run(2, R"(-c 'exec benchmarks/perf/lci_perf --size $((LCI_RANK + 1))')", "/bin/sh");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.text, HasSubstr("rank 1 was started with other options than rank 0"));
}

}  // namespace
}  // namespace perf
