#include "benchmarks/lci2/options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

options parse(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"lci2_pairs"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  lci::cli::request wanted;
  return parse_options(static_cast<int>(argv.size()), argv.data(), &wanted);
}

std::string error_of(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const lci::cli::usage_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(options, defaults_depend_on_operation_and_test) {
  EXPECT_EQ(parse({}).op, operation::am);
  EXPECT_EQ(parse({}).completion, completion_kind::queue);
  EXPECT_EQ(parse({"--op", "send"}).completion, completion_kind::sync);
  EXPECT_EQ(parse({"--op", "put_signal"}).completion, completion_kind::queue);
  EXPECT_EQ(parse({}).window, 1);
  EXPECT_EQ(parse({"--test", "rate"}).window, 64);
  EXPECT_THAT(parse({"--test", "rate"}).sizes, ElementsAre(8));
  EXPECT_THAT(parse({"--test", "bandwidth"}).sizes, ElementsAre(65536));
  EXPECT_FALSE(parse({}).own_devices);
  EXPECT_TRUE(parse({}).bind);
  EXPECT_FALSE(parse({}).json);
}

TEST(options, everything_can_be_chosen) {
  const options chosen = parse({"--op",      "send",      "--test",           "rate",
                                "--size",    "4K:16K",    "--threads",        "3",
                                "--devices", "dedicated", "--completion",     "handler",
                                "--window",  "9",         "--iters",          "77",
                                "--warmup",  "0",         "--checked-rounds", "2",
                                "--bind",    "none",      "--format",         "json"});
  EXPECT_EQ(chosen.op, operation::send);
  EXPECT_EQ(chosen.test, test_kind::rate);
  EXPECT_THAT(chosen.sizes, ElementsAre(4096, 8192, 16384));
  EXPECT_EQ(chosen.threads, 3);
  EXPECT_TRUE(chosen.own_devices);
  EXPECT_EQ(chosen.completion, completion_kind::handler);
  EXPECT_EQ(chosen.window, 9);
  EXPECT_EQ(iterations_for(chosen, 8), 77U);
  EXPECT_EQ(warmup_for(chosen, 8), 0U);
  EXPECT_EQ(chosen.checked_rounds, 2U);
  EXPECT_FALSE(chosen.bind);
  EXPECT_TRUE(chosen.json);
}

TEST(options, runs_of_larger_messages_are_shorter) {
  for (const char* test : {"latency", "bandwidth"}) {
    const options chosen = parse({"--test", test});
    EXPECT_GT(iterations_for(chosen, 8), iterations_for(chosen, size_t{1} << 20));
    EXPECT_EQ(warmup_for(chosen, 8), iterations_for(chosen, 8) / 10);
    EXPECT_GE(warmup_for(chosen, size_t{1} << 30), 1U);
  }
}

TEST(options, an_error_names_the_option_and_what_it_may_be) {
  EXPECT_EQ(error_of({"--op", "get"}), "--op get: must be am, send or put_signal");
  EXPECT_EQ(error_of({"--threads", "65"}), "--threads 65: must be a number from 1 to 64");
  EXPECT_EQ(error_of({"--window", "1025"}), "--window 1025: must be a number from 1 to 1024");
  EXPECT_EQ(error_of({"--completion", "sync"}), "--completion sync: is for --op send, not --op am");
  EXPECT_EQ(error_of({"--op", "put_signal", "--completion", "sync"}),
            "--completion sync: is for --op send, not --op put_signal");
  EXPECT_THAT(error_of({"--bogus"}), HasSubstr("unknown option --bogus"));
  EXPECT_THAT(error_of({"--size", "3:8"}), HasSubstr("--size 3:8: must be N, or A:B"));
}

TEST(options, ranks_can_see_that_theirs_differ) {
  const std::string usual = describe(parse({}));
  EXPECT_EQ(describe(parse({"--format", "json"})), usual);  // only rank 0 prints
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--op", "send"},
                                             {"--test", "rate"},
                                             {"--size", "9"},
                                             {"--threads", "2"},
                                             {"--devices", "dedicated"},
                                             {"--completion", "handler"},
                                             {"--iters", "3"},
                                             {"--warmup", "3"},
                                             {"--checked-rounds", "3"},
                                             {"--bind", "none"}}) {
    EXPECT_NE(describe(parse(other)), usual) << other[0];
  }
}

TEST(options, help_states_every_option) {
  for (const char* word :
       {"--op", "--test", "--size", "--threads", "--devices", "--completion", "--window", "--iters",
        "--warmup", "--checked-rounds", "--bind", "--format"}) {
    EXPECT_THAT(help_text(), HasSubstr(word));
  }
}

}  // namespace
}  // namespace lci2
