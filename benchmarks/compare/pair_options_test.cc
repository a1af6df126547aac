#include "benchmarks/compare/pair_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace compare {
namespace {

using testing::HasSubstr;

std::string parse(std::vector<std::string> words, options_t* options) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(&word[0]);
  }
  return parse_options(static_cast<int>(argv.size()), argv.data(), {"ring", "copy"}, options);
}

TEST(ParseOptions, TakesEveryOption) {
  options_t options;
  EXPECT_EQ(parse({"--op", "copy", "--test", "bandwidth", "--size", "65536", "--threads", "3",
                   "--window", "16", "--seconds", "0.25", "--bind", "none"},
                  &options),
            "");
  EXPECT_EQ(options.op, "copy");
  EXPECT_EQ(options.test, test_t::bandwidth);
  EXPECT_EQ(options.size, 65536u);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.window, 16);
  EXPECT_EQ(options.seconds, 0.25);
  EXPECT_FALSE(options.bind_core);
}

TEST(ParseOptions, MessagesAreReadWhereOneIsUnderWay) {
  options_t options;
  EXPECT_EQ(parse({"--op", "copy", "--read"}, &options), "");
  EXPECT_TRUE(options.read);
  EXPECT_EQ(parse({"--op", "copy", "--test", "rate", "--read"}, &options),
            "--read: is for --test latency");
}

TEST(ParseOptions, NamesWhatIsWrong) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"--op", "line"},
                                             {"--op", "ring", "--size", "7"},
                                             {"--op", "ring", "--size", "8k"},
                                             {"--window", "63"},
                                             {"--threads", "0"},
                                             {"--threads", "1.5"},
                                             {"--bind", "socket"},
                                             {"--test", "bibandwidth"},
                                             {"--seconds", "nan"},
                                             {"--seconds", "1000"},
                                             {"--op", "ring", "--op", "line"}}) {
    options_t options;
    EXPECT_THAT(parse(words, &options), HasSubstr(words[words.size() - 2]));
  }
}

TEST(ParseOptions, WantsAnOperationAndValues) {
  options_t options;
  EXPECT_THAT(parse({}, &options), HasSubstr("--op"));
  EXPECT_THAT(parse({"--op"}, &options), HasSubstr("--op"));
  EXPECT_THAT(parse({"--op", "ring", "--colour", "red"}, &options), HasSubstr("--colour"));
  EXPECT_THAT(parse({"--help"}, &options), HasSubstr("usage: "));
}

TEST(Percentile, IsTheNearestRank) {
  std::vector<float> values = {5, 1, 4, 2, 3};
  EXPECT_EQ(percentile(&values, 0.5), 3);
  EXPECT_EQ(percentile(&values, 0.01), 1);
  EXPECT_EQ(percentile(&values, 0.8), 4);
  EXPECT_EQ(percentile(&values, 0.81), 5);
  EXPECT_EQ(percentile(&values, 1), 5);
  std::vector<float> none;
  EXPECT_EQ(percentile(&none, 0.5), 0);
}

std::string printed(const options_t& options, result_t result) {
  char text[1024] = {};
  std::FILE* file = fmemopen(text, sizeof text, "w");
  print_result(file, options, "backend", &result);
  std::fclose(file);
  return text;
}

TEST(PrintResult, HasTheKeysOfLciPerf) {
  options_t options;
  options.op = "ring";
  options.threads = 2;
  EXPECT_EQ(printed(options, {400, 1e-4, {1.0f, 2.0f, 9.0f}}),
            "{\"op\": \"ring\", \"test\": \"latency\", \"size\": 8, \"threads\": 2, \"devices\": "
            "\"dedicated\", \"backend\": \"backend\", \"ranks\": 2, \"latency_us_mean\": 0.5000, "
            "\"latency_us_p50\": 2.0000, \"latency_us_p99\": 9.0000, \"latency_us_max\": 9.0000, "
            "\"messages_per_s\": 4000000.0, \"bytes_per_s\": 32000000.0}\n");
}

TEST(PrintResult, HasNoLatencyOfAFlood) {
  options_t options;
  options.op = "copy";
  options.test = test_t::bandwidth;
  options.size = 4096;
  const std::string line = printed(options, {1000, 0.5, {}});
  EXPECT_THAT(line, HasSubstr("\"messages_per_s\": 2000.0, \"bytes_per_s\": 8192000.0"));
  EXPECT_EQ(line.find("latency_us"), std::string::npos);
}

}  // namespace
}  // namespace compare
