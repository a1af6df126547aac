// lci2_pairs as its users meet it: started by lcrun, and judged by its output and exit code.
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/perf/launched.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci2 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

perf::outcome run(int ranks, const std::string& arguments,
                  const std::string& program = "benchmarks/lci2/lci2_pairs") {
  return perf::run_launched(ranks, program, arguments);
}

struct measurement {
  std::string op;
  std::string completion;
  std::string test;
  int threads;
  std::string devices;
};

void expect_plausible(const measurement& what) {
  const std::string arguments = "--op " + what.op + " --completion " + what.completion +
                                " --test " + what.test + " --threads " +
                                std::to_string(what.threads) + " --devices " + what.devices +
                                " --size 1K:4K --iters 5 --warmup 1 --window 5"
                                " --checked-rounds 3 --format json";
  SCOPED_TRACE(arguments);
  const perf::outcome result = run(2, arguments);
  ASSERT_EQ(result.code, 0) << result.text;
  const std::vector<std::string> lines = perf::lines_of(result.text);
  ASSERT_EQ(lines.size(), 3U) << result.text;
  for (size_t i = 0; i < lines.size(); ++i) {
    const perf::json_object line(lines[i]);
    EXPECT_EQ(line.text("op"), what.op);
    EXPECT_EQ(line.text("completion"), what.completion);
    EXPECT_EQ(line.text("test"), what.test);
    EXPECT_EQ(line.text("devices"), what.devices);
    EXPECT_EQ(line.number("threads"), what.threads);
    EXPECT_EQ(line.number("ranks"), 2);
    EXPECT_EQ(line.number("size"), 1024 << i);
    // 5 round trips, or 5 windows of 5 messages.
    const bool is_latency = what.test == "latency";
    EXPECT_EQ(line.number("messages"), (is_latency ? 10 : 25) * what.threads);
    // 3 rounds of 64 messages in each direction.
    EXPECT_EQ(line.number("checked"), 3 * 2 * 64 * what.threads);
    const double rate = line.number("messages_per_s");
    EXPECT_GT(rate, 0);
    // Both are rounded to tenths.
    EXPECT_NEAR(line.number("bytes_per_s"), rate * line.number("size"), line.number("size") / 10);
    if (!is_latency) continue;
    EXPECT_GT(line.number("latency_us_p50"), 0);
    // Each thread has one message under way at a time, and the longest time of any of them counts.
    EXPECT_LE((rate - 0.05) * line.number("latency_us_mean") * 1e-6, what.threads * 1.00001);
  }
}

using way = std::tuple<const char*, const char*>;
class every_way : public ::testing::TestWithParam<way> {
 protected:
  const std::string op_ = std::get<0>(GetParam());
  const std::string completion_ = std::get<1>(GetParam());
};

TEST_P(every_way, measures_with_one_thread) {
  for (const char* test : {"latency", "rate", "bandwidth"}) {
    expect_plausible({op_, completion_, test, 1, "shared"});
  }
}

TEST_P(every_way, measures_with_more_threads_than_cores) {
  for (const char* devices : {"shared", "dedicated"}) {
    for (const char* test : {"latency", "rate"}) {
      expect_plausible({op_, completion_, test, 3, devices});
    }
    expect_plausible({op_, completion_, "bandwidth", 4, devices});
  }
}

TEST_P(every_way, measures_messages_of_nothing_one_byte_and_a_megabyte) {
  for (const char* size : {"0", "1", "1M"}) {
    for (const char* test : {"latency", "rate"}) {
      const perf::outcome result =
          run(2, "--op " + op_ + " --completion " + completion_ + " --test " + test + " --size " +
                     size + " --iters 2 --window 3 --format json");
      ASSERT_EQ(result.code, 0) << result.text;
      const perf::json_object line(result.text.substr(0, result.text.find('\n')));
      EXPECT_EQ(line.number("bytes_per_s") > 0, line.number("size") > 0);
    }
  }
}

TEST_P(every_way, wrong_bytes_are_an_error_that_says_where) {
  const perf::outcome result =
      run(2, "--op " + op_ + " --completion " + completion_ + " --size 64 --threads 2 --iters 3",
          "benchmarks/lci2/disagreeing");
  EXPECT_EQ(result.code, 1) << result.text;
  EXPECT_THAT(result.text, AllOf(HasSubstr("lci2_pairs: rank "), HasSubstr("wrong data: message "),
                                 HasSubstr(" of 64 bytes to thread "), HasSubstr(": byte 0 is ")));
}

INSTANTIATE_TEST_SUITE_P(lci2_pairs, every_way,
                         ::testing::Values(way("am", "queue"), way("am", "handler"),
                                           way("send", "queue"), way("send", "handler"),
                                           way("send", "sync"), way("put_signal", "queue"),
                                           way("put_signal", "handler")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });

TEST(lci2_pairs, text_is_a_header_and_a_line_a_size) {
  const perf::outcome result = run(2, "--size 8:32 --iters 10 --bind none");
  ASSERT_EQ(result.code, 0) << result.text;
  const std::vector<std::string> lines = perf::lines_of(result.text);
  ASSERT_EQ(lines.size(), 5U) << result.text;
  EXPECT_THAT(lines[0], HasSubstr("latency of am, completion queue, 1 threads"));
  EXPECT_EQ(lines[2].substr(0, 2), "8 ");
  EXPECT_EQ(lines[4].substr(0, 3), "32 ");
}

TEST(lci2_pairs, help_is_printed_once_and_needs_no_partner) {
  for (const int ranks : {1, 3}) {
    const perf::outcome result = run(ranks, "--help");
    EXPECT_EQ(result.code, 0);
    const size_t first = result.text.find("usage: lcrun");
    ASSERT_NE(first, std::string::npos) << result.text;
    EXPECT_EQ(result.text.find("usage: lcrun", first + 1), std::string::npos);
  }
}

TEST(lci2_pairs, an_unsuitable_job_is_refused_once_with_a_reason) {
  const std::vector<std::tuple<int, std::string, std::string>> refused = {
      {2, "--op get", "--op get: must be am, send or put_signal"},
      {2, "--completion sync", "--completion sync: is for --op send"},
      {1, "", "started with 1 rank, but it measures two"},
      {3, "", "started with 3 ranks, but it measures two"},
  };
  for (const auto& [ranks, arguments, reason] : refused) {
    const perf::outcome result = run(ranks, arguments);
    EXPECT_EQ(result.code, 2) << arguments << result.text;
    EXPECT_THAT(result.text, HasSubstr("lci2_pairs: " + reason));
    EXPECT_EQ(result.text.find(reason, result.text.find(reason) + 1), std::string::npos)
        << result.text;
  }
}

TEST(lci2_pairs, ranks_with_other_options_are_refused) {
  const perf::outcome result =
      run(2, R"(-c 'exec benchmarks/lci2/lci2_pairs --size $((LCI_RANK + 1))')", "/bin/sh");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.text, HasSubstr("the ranks were started with different options"));
}

}  // namespace
}  // namespace lci2
