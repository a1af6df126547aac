#include "benchmarks/threads/options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Options>
Options parse(Options (*parser)(int, const char* const*, cli::request*),
              const std::vector<std::string>& words, cli::request* wanted = nullptr) {
  std::vector<const char*> argv = {"program"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  cli::request unused;
  return parser(static_cast<int>(argv.size()), argv.data(), wanted ? wanted : &unused);
}

injection_options injection(const std::vector<std::string>& words) {
  return parse(parse_injection, words);
}
waves_options waves(const std::vector<std::string>& words) { return parse(parse_waves, words); }

template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const usage_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(injection_options, defaults_are_those_of_the_paper) {
  const injection_options chosen = injection({});
  EXPECT_THAT(chosen.threads, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(chosen.runs, 100);
}

TEST(injection_options, everything_can_be_chosen) {
  const injection_options chosen =
      injection({"--threads", "2:3", "--backend", "ofi", "--bind", "core", "--format", "json",
                 "--runs", "7", "--warmup", "0", "--messages", "11", "--alone"});
  EXPECT_THAT(chosen.threads, ElementsAre(2, 3));
  EXPECT_EQ(chosen.backend, "ofi");
  EXPECT_EQ(chosen.bind, binding::core);
  EXPECT_EQ(chosen.format, output_format::json);
  EXPECT_EQ(chosen.runs, 7);
  EXPECT_EQ(chosen.warmup, 0);
  EXPECT_EQ(chosen.messages, 11U);
  EXPECT_TRUE(chosen.alone);
}

TEST(waves_options, everything_can_be_chosen) {
  const waves_options chosen =
      waves({"--op", "get", "--size", "64:128", "--threads", "3", "--devices", "dedicated",
             "--pings", "5", "--waves", "9", "--bind=none"});
  EXPECT_EQ(chosen.op, operation::get);
  EXPECT_THAT(chosen.sizes, ElementsAre(64, 128));
  EXPECT_THAT(chosen.threads, ElementsAre(3));
  EXPECT_TRUE(chosen.dedicated);
  EXPECT_EQ(chosen.pings, 5);
  EXPECT_EQ(waves_for(chosen, 64, 3), 9U);
}

TEST(waves_options, fewer_waves_of_large_pings) {
  const waves_options chosen = waves({});
  EXPECT_EQ(waves_for(chosen, 8, 1), 2000U);
  EXPECT_EQ(waves_for(chosen, size_t{64} << 10, 1), 256U);
  EXPECT_EQ(waves_for(chosen, size_t{64} << 10, 8), 32U);
  EXPECT_EQ(waves_for(chosen, size_t{1} << 30, 8), 10U);
}

TEST(threads_options, an_error_names_the_option_and_what_it_may_be) {
  EXPECT_EQ(error_of([] {
              injection({"--threads", "257"});
            }),
            "--threads 257: must be N, or A:B with A <= B, numbers from 1 to 256");
  EXPECT_THAT(error_of([] { waves({"--size", "4:16"}); }), HasSubstr("--size 4:16: a ping has"));
  EXPECT_EQ(error_of([] { waves({"--op", "am"}); }), "--op am: must be put or get");
  EXPECT_EQ(error_of([] {
              waves({"--devices", "2"});
            }),
            "--devices 2: must be shared or dedicated");
  EXPECT_EQ(error_of([] { injection({"--format", "csv"}); }), "--format csv: must be text or json");
  EXPECT_THAT(error_of([] { injection({"--size", "8"}); }), HasSubstr("unknown option --size"));
}

TEST(poll_mask_options, masks_are_powers_of_two_less_one) {
  EXPECT_THAT(parse(parse_poll_mask, {"--masks", "0,7"}).masks, ElementsAre(0, 7));
  for (const std::string masks : {"", "2", "0,", "1,-1", "x"}) {
    EXPECT_EQ(
        error_of([&] {
          parse(parse_poll_mask, {"--masks", masks.c_str()});
        }),
        "--masks " + (masks.empty() ? "\"\"" : masks) + ": must be 2^n - 1 each: 0, 1, 3, 7, ...");
  }
}

TEST(threads_options, help_names_every_option) {
  cli::request wanted;
  parse(parse_injection, {"--help"}, &wanted);
  EXPECT_EQ(wanted, cli::request::help);
  for (const char* name : {"--threads", "--backend", "--bind", "--format", "--runs", "--warmup",
                           "--messages", "--alone"}) {
    EXPECT_THAT(injection_help(), HasSubstr(name));
  }
  for (const char* name : {"--threads", "--backend", "--bind", "--format", "--op", "--size",
                           "--devices", "--pings", "--waves"}) {
    EXPECT_THAT(waves_help(), HasSubstr(name));
  }
}

TEST(threads_options, ranks_can_see_that_theirs_differ) {
  EXPECT_EQ(describe(injection({})), describe(injection({"--format", "json"})));
  for (const char* name : {"--threads", "--runs", "--warmup", "--messages"}) {
    EXPECT_NE(describe(injection({})), describe(injection({name, "9"}))) << name;
  }
  for (const char* name : {"--threads", "--size", "--pings", "--waves"}) {
    EXPECT_NE(describe(waves({})), describe(waves({name, "9"}))) << name;
  }
  EXPECT_NE(describe(injection({})), describe(injection({"--alone"})));
  EXPECT_NE(describe(waves({})), describe(waves({"--op", "get"})));
  EXPECT_NE(describe(waves({})), describe(waves({"--devices", "dedicated"})));
}

}  // namespace
}  // namespace perf
