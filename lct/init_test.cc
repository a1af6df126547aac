#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"
#include "lct/testing/test_file.h"

namespace lct {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

TEST(init, makes_the_default_context_as_the_environment_says_until_the_last_fina) {
  const test_file file("log");
  const test_env outfile("LCT_LOG_OUTFILE", file.path());
  const test_env level("LCT_LOG_LEVEL", "info");
  EXPECT_EQ(LCT_log_ctx_default, nullptr);
  LCT_init();
  const LCT_log_ctx_t made = LCT_log_ctx_default;
  ASSERT_NE(made, nullptr);
  LCT_init();
  LCT_fina();
  EXPECT_EQ(LCT_log_ctx_default, made);
  EXPECT_EQ(LCT_log_get_level(LCT_log_ctx_default), LCT_LOG_INFO);
  EXPECT_STRNE(LCT_hostname, "uninitialized");
  LCT_Warn(LCT_log_ctx_default, "careful\n");
  LCT_fina();
  EXPECT_EQ(LCT_log_ctx_default, nullptr);
  EXPECT_THAT(file.lines(), ElementsAre(EndsWith("<lct:warn:warn> careful")));
}

TEST(init, warnings_go_to_stderr_before_it) {
  testing::internal::CaptureStderr();
  LCT_Warn(LCT_log_ctx_default, "is shown\n");
  LCT_Log(LCT_log_ctx_default, LCT_LOG_INFO, "t", "is hidden\n");
  EXPECT_EQ(LCT_log_get_level(nullptr), LCT_LOG_WARN);
  LCT_log_ctx_t none = nullptr;
  LCT_log_ctx_free(&none);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("<lct:warn:warn> is shown\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("is hidden")));
  EXPECT_THAT(text, HasSubstr("the log context to be freed is null"));
}

TEST(init, one_fina_too_many_is_reported) {
  testing::internal::CaptureStderr();
  LCT_fina();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("more often than LCT_init"));
}

}  // namespace
}  // namespace lct
