#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"
#include "lct/testing/test_file.h"

namespace lct {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

const char* const levels[] = {"none", "profile", "debug"};

LCT_log_ctx_t make_context(const test_file& file, int default_level, const char* level = nullptr,
                           const char* whitelist = nullptr, const char* blacklist = nullptr) {
  return LCT_log_ctx_alloc(levels, 3, default_level, "component",
                           const_cast<char*>(file.path().c_str()), const_cast<char*>(level),
                           const_cast<char*>(whitelist), const_cast<char*>(blacklist));
}

std::string what_of(LCT_log_ctx_t context, bool condition, int value) {
  try {
    LCT_Assert(context, condition, "the value is %d\n", value);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(log, a_line_names_rank_host_place_context_level_and_tag) {
  const test_file file("log");
  LCT_init();
  LCT_set_rank(3);
  LCT_log_ctx_t context = make_context(file, 1);
  const int line = __LINE__ + 1;
  LCT_Log(context, 1, "network", "%d sends\n", 7);
  LCT_log_ctx_free(&context);
  EXPECT_EQ(context, nullptr);
  ASSERT_THAT(file.lines(), SizeIs(1));
  EXPECT_THAT(file.lines()[0], MatchesRegex("3:[^:]+:[0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]:.*"));
  EXPECT_THAT(file.lines()[0], HasSubstr(std::string(LCT_hostname) + ":"));
  EXPECT_THAT(file.lines()[0], EndsWith("log_test.cc:TestBody:" + std::to_string(line) +
                                        "<component:profile:network> 7 sends"));
  LCT_set_rank(-1);
  LCT_fina();
}

TEST(log, lines_of_less_important_levels_are_not_shown) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 1);
  EXPECT_EQ(LCT_log_get_level(context), 1);
  LCT_Log(context, 0, "t", "zero\n");
  LCT_Log(context, 1, "t", "one\n");
  LCT_Log(context, 2, "t", "two\n");
  LCT_log_ctx_free(&context);
  EXPECT_THAT(file.lines(), ElementsAre(EndsWith("zero"), EndsWith("one")));
}

TEST(log, a_name_chooses_the_level) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 0, "debug");
  EXPECT_EQ(LCT_log_get_level(context), 2);
  LCT_log_ctx_free(&context);
}

TEST(log, an_unknown_level_is_reported_and_the_default_stays) {
  const test_file file("log");
  testing::internal::CaptureStderr();
  LCT_log_ctx_t context = make_context(file, 1, "loud");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("component"), HasSubstr("'loud'"),
                             HasSubstr("none, profile, debug")));
  EXPECT_EQ(LCT_log_get_level(context), 1);
  LCT_log_ctx_free(&context);
}

TEST(log, tags_are_filtered) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2, "", "send,recv", "recv");
  LCT_Log(context, 1, "send", "is shown\n");
  LCT_Log(context, 1, "recv", "is hidden\n");
  LCT_Log(context, 1, "device", "is not asked for\n");
  LCT_log_ctx_free(&context);
  EXPECT_THAT(file.lines(), ElementsAre(EndsWith("is shown")));
}

TEST(log, empty_filters_show_everything) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2, "", "", "");
  LCT_Log(context, 1, "send", "is shown\n");
  LCT_Log(context, 1, "", "is shown without a tag\n");
  LCT_log_ctx_free(&context);
  EXPECT_THAT(file.lines(), SizeIs(2));
}

TEST(log, the_file_name_has_the_rank) {
  LCT_set_rank(12);
  const test_file file("log_of_12");
  LCT_log_ctx_t context = LCT_log_ctx_alloc(
      levels, 3, 2, "component", const_cast<char*>((testing::TempDir() + "log_of_%").c_str()),
      nullptr, nullptr, nullptr);
  LCT_Log(context, 0, "t", "here\n");
  LCT_log_ctx_free(&context);
  EXPECT_THAT(file.lines(), SizeIs(1));
  LCT_set_rank(-1);
}

TEST(log, a_file_that_cannot_be_opened_is_named_and_stderr_takes_its_place) {
  std::string path = testing::TempDir() + "no/such/directory";
  testing::internal::CaptureStderr();
  LCT_log_ctx_t context =
      LCT_log_ctx_alloc(levels, 3, 2, "component", &path[0], nullptr, nullptr, nullptr);
  LCT_Log(context, 0, "t", "nothing is lost\n");
  LCT_log_ctx_free(&context);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr(path + ": No such file or directory"));
  EXPECT_THAT(text, HasSubstr("> nothing is lost\n"));
}

TEST(log, long_messages_are_whole) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2);
  const std::string message(100000, 'x');
  LCT_Log(context, 0, "t", "%s\n", message.c_str());
  LCT_log_ctx_free(&context);
  EXPECT_THAT(file.lines(), ElementsAre(EndsWith("> " + message)));
}

void log_by_list(LCT_log_ctx_t context, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  LCT_Logv(context, 1, "list", format, arguments);
  va_end(arguments);
}

TEST(log, logv_takes_a_list_and_flush_writes_it_out) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2);
  log_by_list(context, "%s and %d\n", "text", 5);
  EXPECT_THAT(file.lines(), IsEmpty());
  LCT_Log_flush(context);
  EXPECT_THAT(file.lines(), ElementsAre(EndsWith("<component:profile:list> text and 5")));
  LCT_log_ctx_free(&context);
}

TEST(log, a_level_that_the_context_does_not_have_is_refused) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2);
  for (const int level : {-1, 3}) {
    try {
      LCT_Log(context, level, "t", "never\n");
      ADD_FAILURE() << level;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the log level " + std::to_string(level)));
    }
  }
  LCT_log_ctx_free(&context);
  EXPECT_THAT(file.lines(), IsEmpty());
}

TEST(log, a_false_assertion_throws_with_its_place_and_message) {
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2);
  EXPECT_EQ(what_of(context, true, 5), "");
  const std::string what = what_of(context, false, 5);
  EXPECT_THAT(what, HasSubstr("log_test.cc:what_of:"));
  EXPECT_THAT(what, HasSubstr("<component:Assert failed: condition> the value is 5"));
  LCT_log_ctx_free(&context);
  EXPECT_THAT(what_of(nullptr, false, 6), HasSubstr("<lct:Assert failed"));
}

TEST(log_death_test, an_assertion_aborts_if_asked_to) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const test_env aborts("LCT_ABORT_ON_ASSERT", "1");
  EXPECT_EXIT(what_of(nullptr, false, 5), testing::KilledBySignal(SIGABRT), "the value is 5");
}

TEST(log, an_assertion_is_one_statement_and_evaluates_its_message_on_failure_only) {
  int evaluated = 0;
  if (evaluated > 0)
    LCT_Assert(nullptr, false, "not reached");
  else
    LCT_Assert(nullptr, true, "%d", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(log, cache_lines_are_compared) {
  // Static, as stacks of gcc's address sanitizer do not keep the alignment.
  alignas(LCT_CACHE_LINE) static char memory[2 * LCT_CACHE_LINE];
  LCT_ASSERT_SAME_CACHE_LINE(&memory[0], &memory[LCT_CACHE_LINE - 1]);
  LCT_ASSERT_DIFF_CACHE_LINE(&memory[0], &memory[LCT_CACHE_LINE]);
  EXPECT_THROW(LCT_ASSERT_DIFF_CACHE_LINE(&memory[0], &memory[1]), std::runtime_error);
  EXPECT_THROW(LCT_ASSERT_SAME_CACHE_LINE(&memory[0], &memory[LCT_CACHE_LINE]), std::runtime_error);
}

TEST(log, debug_macros_do_nothing_without_LCT_DEBUG) {
  int evaluated = 0;
  LCT_DBG_Assert(nullptr, ++evaluated > 1, "never");
  LCT_DBG_Log(nullptr, ++evaluated, "t", "never");
  LCT_DBG_Warn(nullptr, "%d", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(log, lines_of_many_threads_are_whole) {
  constexpr int threads = 4;
  constexpr int lines = 200;
  const test_file file("log");
  LCT_log_ctx_t context = make_context(file, 2);
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([context] {
      for (int i = 0; i < lines; ++i) LCT_Log(context, 1, "t", "<%0100d>\n", i);
    });
  }
  for (std::thread& writer : writers) writer.join();
  LCT_log_ctx_free(&context);
  const std::vector<std::string> written = file.lines();
  EXPECT_THAT(written, SizeIs(threads * lines));
  for (const std::string& line : written) {
    EXPECT_THAT(line, MatchesRegex("-1:.*<component:profile:t> <0*[0-9]+>"));
  }
}

}  // namespace
}  // namespace lct
