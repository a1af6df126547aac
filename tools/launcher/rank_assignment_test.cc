#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "tools/launcher/options.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

// An attacker who listens on the network cannot join the job.
TEST(RankAssignment, HasTheEnvironmentOfTheJobAndNotItsToken) {
  constexpr char token[] = "0123456789abcdef";
  ASSERT_EQ(setenv("LCI_BOOT_TOKEN", token, 1), 0);
  const char* const arguments[] = {
      "lcrun",           "--node-rank",    "0",  "--nnodes", "2",
      "--rdzv-endpoint", "127.0.0.1:4567", "-n", "2",        "/bin/true"};
  const char* const none[] = {nullptr};
  const auto options = parse_options(10, arguments, none);
  ASSERT_TRUE(options.ok()) << options.status();
  const std::string of_token = std::string("LCI_BOOT_TOKEN=") + token;
  const char* environment[] = {"LCI_LOG_LEVEL=info", of_token.c_str(), "HOME=/root", nullptr};
  const auto plan = make_plan(*options, const_cast<char* const*>(environment));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->token, token);
  const std::string bytes =
      wire::encode(wire::rank_assignment{assignment_of(*plan, *options, 1, "127.0.0.1:4568")});
  EXPECT_NE(bytes.find("LCI_LOG_LEVEL=info"), std::string::npos);
  EXPECT_NE(bytes.find("LCI_BOOT_ADDR=127.0.0.1:4568"), std::string::npos);
  EXPECT_EQ(bytes.find("HOME="), std::string::npos);
  EXPECT_EQ(bytes.find(token), std::string::npos);
}

}  // namespace
}  // namespace lci::launcher
