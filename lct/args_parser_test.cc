#include <getopt.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"

namespace lct {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A parser as the benchmarks use it.
class args_parser : public testing::Test {
 protected:
  args_parser() {
    LCT_args_parser_add(parser_, "nthreads", required_argument, &nthreads_);
    LCT_args_parser_add_dict(parser_, "op", required_argument, &op_, operations_, 2);
    LCT_args_parser_add(parser_, "verbose", no_argument, &verbose_);
    LCT_args_parser_add(parser_, "window", optional_argument, &window_);
  }
  ~args_parser() override { LCT_args_parser_free(parser_); }

  void parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "program");
    pointers_.clear();
    for (std::string& argument : arguments) pointers_.push_back(&argument[0]);
    const int count = static_cast<int>(pointers_.size());
    pointers_.push_back(nullptr);
    LCT_args_parser_parse(parser_, count, pointers_.data());
    positional_.assign(pointers_.begin() + optind, pointers_.end() - 1);
  }

  std::string error_of(const std::vector<std::string>& arguments) {
    try {
      parse(arguments);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  std::string printed(bool verbose) {
    testing::internal::CaptureStdout();
    LCT_args_parser_print(parser_, verbose);
    return testing::internal::GetCapturedStdout();
  }

  LCT_dict_str_int_t operations_[2] = {{"send", 10}, {"put", 20}};
  LCT_args_parser_t parser_ = LCT_args_parser_alloc();
  int nthreads_ = 1;
  int op_ = 0;
  int verbose_ = 0;
  int window_ = 0;
  std::vector<char*> pointers_;
  std::vector<std::string> positional_;
};

TEST_F(args_parser, takes_values_with_and_without_an_equals_sign) {
  parse({"--nthreads", "4", "--op=put", "--verbose"});
  EXPECT_EQ(nthreads_, 4);
  EXPECT_EQ(op_, 20);
  EXPECT_EQ(verbose_, 1);
  EXPECT_EQ(window_, 0);
  parse({"--nthreads=-8", "--op", "7"});
  EXPECT_EQ(nthreads_, -8);
  EXPECT_EQ(op_, 7);
}

TEST_F(args_parser, an_optional_value_is_one_without_it) {
  parse({"--window"});
  EXPECT_EQ(window_, 1);
  parse({"--window=64"});
  EXPECT_EQ(window_, 64);
}

TEST_F(args_parser, the_last_value_counts_and_a_beginning_of_the_name_is_enough) {
  parse({"--nthreads", "4", "--nth", "6"});
  EXPECT_EQ(nthreads_, 6);
}

TEST_F(args_parser, other_arguments_stay_and_options_after_them_count) {
  parse({"first", "--nthreads", "3", "second", "--", "--verbose"});
  EXPECT_EQ(nthreads_, 3);
  EXPECT_EQ(verbose_, 0);
  EXPECT_THAT(positional_, testing::ElementsAre("first", "second", "--verbose"));
}

TEST_F(args_parser, unknown_options_and_missing_values_are_reported_and_skipped) {
  testing::internal::CaptureStderr();
  parse({"--unknown", "--verbose", "--nthreads"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("program"), HasSubstr("--unknown"), HasSubstr("--nthreads")));
  EXPECT_EQ(verbose_, 1);
  EXPECT_EQ(nthreads_, 1);
}

TEST_F(args_parser, a_value_that_is_no_integer_is_refused_by_name) {
  EXPECT_THAT(error_of({"--nthreads", "many"}),
              AllOf(HasSubstr("'many'"), HasSubstr("--nthreads")));
  EXPECT_THAT(error_of({"--nthreads", "4k"}), HasSubstr("'4k'"));
  EXPECT_THAT(error_of({"--nthreads="}), HasSubstr("''"));
  EXPECT_THAT(error_of({"--nthreads", "2147483648"}), HasSubstr("2147483647"));
  EXPECT_THAT(error_of({"--op", "get"}), AllOf(HasSubstr("'get'"), HasSubstr("'send', 'put'")));
  EXPECT_EQ(nthreads_, 1);
  EXPECT_EQ(op_, 0);
}

TEST_F(args_parser, prints_words_and_numbers) {
  parse({"--nthreads", "4", "--op", "put"});
  EXPECT_EQ(printed(true),
            "ArgsParser: nthreads = 4\nArgsParser: op = 20(put)\nArgsParser: verbose = 0\n"
            "ArgsParser: window = 0\n");
  EXPECT_EQ(printed(false),
            "ArgsParser: { \"exe\": \"program\", \"nthreads\": 4, \"op\": \"put\", "
            "\"verbose\": 0, \"window\": 0 }\n");
}

TEST_F(args_parser, mistakes_of_the_program_are_refused) {
  int value = 0;
  EXPECT_THROW(LCT_args_parser_add(parser_, nullptr, no_argument, &value), std::runtime_error);
  EXPECT_THROW(LCT_args_parser_add(parser_, "x", no_argument, nullptr), std::runtime_error);
  EXPECT_THROW(LCT_args_parser_add(parser_, "x", 3, &value), std::runtime_error);
  EXPECT_THROW(LCT_args_parser_add(nullptr, "x", no_argument, &value), std::runtime_error);
  EXPECT_THROW(LCT_args_parser_parse(parser_, 0, nullptr), std::runtime_error);
  LCT_args_parser_free(nullptr);
}

TEST_F(args_parser, a_name_that_is_there_already_is_reported) {
  int other = 0;
  testing::internal::CaptureStderr();
  LCT_args_parser_add(parser_, "nthreads", required_argument, &other);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--nthreads was added before"));
  parse({"--nthreads", "5"});
  EXPECT_EQ(nthreads_, 5);
  EXPECT_EQ(other, 0);
}

}  // namespace
}  // namespace lct
