#include "tools/launcher/uri.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;

std::string fresh_path(const std::string& name) {
  const char* dir = std::getenv("TEST_TMPDIR");
  return std::string(dir != nullptr ? dir : "/tmp") + "/" + std::to_string(getpid()) + name;
}

TEST(Uri, ComesBackAsItWas) {
  for (const char* token : {"0123abc", "", "a@b:c/d%e f\n"}) {
    for (const char* address : {"10.0.0.1:80", "[::1]:1", "host.name:65535"}) {
      const auto again = parse_uri(format_uri({address, token}));
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->address, address);
      EXPECT_EQ(again->token, token);
    }
  }
}

TEST(Uri, RefusesWhatIsNone) {
  for (const char* text : {"", "lcrun://", "lcrun://token", "http://t@h:1", "lcrun://t@h", "t@h:1",
                           "lcrun://t@h:x", "lcrun://%4@h:1", "lcrun://%zz@h:1", "lcrun://%@h:1"}) {
    EXPECT_EQ(parse_uri(text).status().code(), base::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Uri, GoesThroughAFileThatOnlyItsOwnerReads) {
  const std::string path = fresh_path("uri");
  launch_options options;
  options.endpoint = path;
  EXPECT_EQ(find_job_address(options).status().code(), base::StatusCode::kUnavailable);
  ASSERT_TRUE(write_uri(path, {"h:1", "t"}).ok());
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto at = find_job_address(options);
  ASSERT_TRUE(at.ok()) << at.status();
  EXPECT_EQ(at->address, "h:1");
  EXPECT_EQ(at->token, "t");
  std::ofstream(path) << "something else";
  EXPECT_THAT(std::string(find_job_address(options).status().message()), HasSubstr(path));
  EXPECT_THAT(std::string(write_uri("/no/such/file", {"h:1", "t"}).message()),
              HasSubstr("/no/such/file"));
}

TEST(Uri, AnAddressHasItsTokenInTheEnvironment) {
  setenv("LCI_BOOT_TOKEN", "secret", 1);
  launch_options options;
  options.endpoint = "h:1";
  const auto at = find_job_address(options);
  ASSERT_TRUE(at.ok()) << at.status();
  EXPECT_EQ(at->address, "h:1");
  EXPECT_EQ(at->token, "secret");
  setenv("LCI_BOOT_TOKEN", std::string(65, 'x').c_str(), 1);
  EXPECT_THAT(std::string(find_job_address(options).status().message()),
              HasSubstr("LCI_BOOT_TOKEN"));
}

TEST(Uri, KnowsAddressesFromFiles) {
  EXPECT_TRUE(is_address("host:1"));
  EXPECT_TRUE(is_address("[::1]:1"));
  EXPECT_FALSE(is_address("job.uri"));
  EXPECT_FALSE(is_address("./dir:1/uri"));
}

}  // namespace
}  // namespace lci::launcher
