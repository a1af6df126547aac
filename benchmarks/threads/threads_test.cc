// The programs of this directory as their users meet them: started by lcrun, and judged by what
// they print and their exit code.
#include <cstdlib>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/perf/launched.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr const char* injection = "benchmarks/threads/uccs_injection";
constexpr const char* waves = "benchmarks/threads/uccs_waves";
constexpr const char* poll_mask = "benchmarks/threads/gasnet_poll_mask";

std::vector<std::string> lines_of_good(int ranks, const std::string& program,
                                       const std::string& arguments) {
  const outcome result = run_launched(ranks, program, arguments);
  EXPECT_EQ(result.code, 0) << program << " " << arguments << ": " << result.text;
  return result.code == 0 ? lines_of(result.text) : std::vector<std::string>();
}

struct injection_job {
  int ranks;
  const char* arguments;
};
class injection_test : public ::testing::TestWithParam<injection_job> {};

TEST_P(injection_test, every_message_calls_back_once) {
  const auto& [ranks, arguments] = GetParam();
  const auto lines = lines_of_good(
      ranks, injection,
      std::string("--threads 1:3 --runs 3 --warmup 1 --messages 2000 --format json ") + arguments);
  ASSERT_EQ(lines.size(), 3U);
  for (size_t i = 0; i < lines.size(); ++i) {
    const json_object line(lines[i]);
    const double threads = static_cast<double>(i + 1);
    EXPECT_EQ(line.text("benchmark"), "uccs_injection");
    EXPECT_EQ(line.number("threads"), threads);
    EXPECT_EQ(line.number("ranks"), ranks);
    EXPECT_EQ(line.number("size"), 4);
    EXPECT_EQ(line.number("runs"), 3);
    EXPECT_GT(line.number("messages_per_s_min"), 0);
    EXPECT_LE(line.number("messages_per_s_min"), line.number("messages_per_s_mean"));
    EXPECT_LE(line.number("messages_per_s_mean"), line.number("messages_per_s_max"));
    EXPECT_NEAR(line.number("callbacks_mean"), 2000 / threads, 1e-3);
    EXPECT_LE(line.number("callbacks_max"), 2000);
    EXPECT_NEAR(line.number("callbacks_relative_deviation"),
                line.number("callbacks_deviation") / line.number("callbacks_mean"), 1e-6);
    const std::vector<double> means = line.numbers("thread_mean");
    ASSERT_EQ(means.size(), i + 1);
    EXPECT_NEAR(std::accumulate(means.begin(), means.end(), 0.0), 2000, 1e-3);
    EXPECT_EQ(line.numbers("thread_min").size(), i + 1);
    EXPECT_EQ(line.numbers("thread_max").size(), i + 1);
    EXPECT_EQ(line.numbers("thread_deviation").size(), i + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(uccs, injection_test,
                         ::testing::Values(injection_job{2, "--bind none"},
                                           injection_job{2, "--bind core"},
                                           injection_job{4, "--bind none"},
                                           injection_job{1, "--alone --bind core"},
                                           injection_job{3, "--alone"}));

class waves_test
    : public ::testing::TestWithParam<std::tuple<int, const char*, const char*, const char*>> {};

TEST_P(waves_test, every_ping_lands) {
  const auto& [ranks, op, devices, bind] = GetParam();
  const auto lines =
      lines_of_good(ranks, waves,
                    std::string("--threads 1:2 --size 8:32K --pings 3 --waves 4 --format json") +
                        " --op " + op + " --devices " + devices + " --bind " + bind);
  ASSERT_EQ(lines.size(), 26U);  // 13 sizes
  for (size_t i = 0; i < lines.size(); ++i) {
    const json_object line(lines[i]);
    EXPECT_EQ(line.text("benchmark"), "uccs_waves");
    EXPECT_EQ(line.text("op"), op);
    EXPECT_EQ(line.text("devices"), devices);
    EXPECT_EQ(line.number("threads"), i < 13 ? 1 : 2);
    EXPECT_EQ(line.number("size"), 8 << i % 13);
    EXPECT_EQ(line.number("waves"), 4);
    EXPECT_EQ(line.number("landed"), ranks * line.number("threads") * 3 * 4);
    const double wave_s = 1e-6 * line.number("wave_us");
    EXPECT_GT(wave_s, 0);
    const double bytes = line.number("landed") * line.number("size");
    EXPECT_NEAR(line.number("bytes_per_s") * wave_s * 4 / bytes, 1, 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(uccs, waves_test,
                         ::testing::Combine(::testing::Values(2, 4),
                                            ::testing::Values("put", "get"),
                                            ::testing::Values("shared", "dedicated"),
                                            ::testing::Values("none", "core")));

TEST(threads, every_mask_serves_both_devices) {
  for (const int ranks : {2, 4}) {
    const auto lines = lines_of_good(
        ranks, poll_mask, "--threads 1:2 --masks 0,31,511 --iters 50 --bind core --format json");
    ASSERT_EQ(lines.size(), 6U);
    for (size_t i = 0; i < lines.size(); ++i) {
      const json_object line(lines[i]);
      EXPECT_EQ(line.text("benchmark"), "gasnet_poll_mask");
      EXPECT_EQ(line.number("ranks"), ranks);
      EXPECT_EQ(line.number("threads"), i < 3 ? 1 : 2);
      EXPECT_EQ(line.number("mask"), i % 3 == 0 ? 0 : i % 3 == 1 ? 31 : 511);
      EXPECT_GT(line.number("shared_us"), 0);
      EXPECT_GT(line.number("own_us"), 0);
    }
  }
}

TEST(threads, text_has_a_line_for_each_measurement) {
  const auto rows = [](const std::vector<std::string>& lines) {
    size_t count = 0;
    for (const std::string& line : lines) {
      if (!line.empty() && line[0] >= '0' && line[0] <= '9') ++count;
    }
    return count;
  };
  EXPECT_EQ(rows(lines_of_good(2, injection, "--threads 1:2 --runs 1 --messages 10")), 2U);
  EXPECT_EQ(rows(lines_of_good(2, waves, "--threads 1:2 --size 8:16 --waves 1")), 4U);
}

TEST(threads, help_needs_no_partner) {
  for (const char* program : {injection, waves, poll_mask}) {
    const outcome result = run_launched(1, program, "--help");
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.text, HasSubstr("usage: lcrun"));
  }
}

TEST(threads, what_can_not_be_is_refused_with_a_reason) {
  const std::vector<std::tuple<int, std::string, std::string, std::string>> refused = {
      {2, injection, "--threads 0", "uccs_injection: --threads 0: must be N, or A:B"},
      {1, injection, "--runs 1", "uccs_injection: started with 1 rank, but ranks communicate in"},
      {2, poll_mask, "--masks 0,2",
       "gasnet_poll_mask: --masks 0,2: must be 2^n - 1 each: 0, 1, 3, 7"},
      {2, waves, "--size 4", "uccs_waves: --size 4: a ping has at least 8 bytes"},
      {3, waves, "--waves 1", "uccs_waves: started with 3 ranks, but ranks communicate in pairs"},
  };
  for (const auto& [ranks, program, arguments, reason] : refused) {
    const outcome result = run_launched(ranks, program, arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_THAT(result.text, HasSubstr(reason));
  }
}

// The comparison with itself: as many objects as there are points and modes.
TEST(threads, run_compares_in_every_mode) {
  const std::string file = std::string(std::getenv("TEST_TMPDIR")) + "/results.json";
  const std::string command =
      "benchmarks/threads/run --quick --rounds 1 --pairs 2 --lcrun tools/launcher/lcrun "
      "--lci-perf benchmarks/perf/lci_perf --json " +
      file + " && cat " + file;
  const outcome result = run_command(command);
  ASSERT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, AllOf(HasSubstr("lcw: median"), HasSubstr("domains: median")));
  size_t objects = 0;
  for (const std::string& text : lines_of(result.text)) {
    if (text.empty() || text[0] != '{') continue;
    ++objects;
    const json_object line(text);
    EXPECT_EQ(line.number("ranks") * line.number("threads"), 4);
    EXPECT_EQ(line.numbers("values").size(), 1U);
    EXPECT_THAT(line.numbers("values"), Each(::testing::Gt(0)));
    EXPECT_GT(line.number("ratio"), 0);
  }
  EXPECT_EQ(objects, 8 * 3 + 4 * 3U);
}

}  // namespace
}  // namespace perf
