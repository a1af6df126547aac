#include "lci/boot/messages.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace lci::boot {
namespace {

// What is said where LCI_HANG_REPORT has this value; null: it is not set.
std::string warning_with(const char* value) {
  if (value != nullptr) setenv("LCI_HANG_REPORT", value, 1);
  testing::internal::CaptureStderr();
  warn_of_slow_start("rank 0 has waited");
  unsetenv("LCI_HANG_REPORT");
  return testing::internal::GetCapturedStderr();
}

TEST(messages, a_slow_start_is_said_unless_reports_of_waits_are_off) {
  for (const char* value : {static_cast<const char*>(nullptr), "30", "0.1", "never"}) {
    EXPECT_NE(warning_with(value).find("warn: rank 0 has waited"), std::string::npos);
  }
  for (const char* value : {"0", "0.0"}) EXPECT_EQ(warning_with(value), "");
}

}  // namespace
}  // namespace lci::boot
