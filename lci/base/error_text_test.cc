#include "lci/base/error_text.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(ErrorText, IsThatOfTheSystem) {
  for (const int error : {ENOENT, EACCES, ECONNREFUSED, ENOMEM}) {
    EXPECT_EQ(error_text(error), std::strerror(error));
  }
}

TEST(ErrorText, SaysWhichLimitOfDescriptorsToRaise) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string text = error_text(EMFILE);
  EXPECT_EQ(text.find(std::strerror(EMFILE)), 0u) << text;
  for (const std::string& part :
       {std::string("EMFILE"), std::string("ulimit -n"), std::to_string(limit.rlim_cur)}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_NE(error_text(ENFILE).find("fs.file-max"), std::string::npos);
}

TEST(ErrorText, SaysWhichLimitOfProcessesToRaise) {
  const std::string text = start_error_text(EAGAIN);
  EXPECT_EQ(text.find(std::strerror(EAGAIN)), 0u) << text;
  EXPECT_NE(text.find("ulimit -u"), std::string::npos) << text;
  EXPECT_NE(text.find("pids.max"), std::string::npos) << text;
  EXPECT_EQ(start_error_text(ENOMEM), error_text(ENOMEM));
}

TEST(ErrorText, NoticesThatNoDescriptorIsLeft) {
  EXPECT_EQ(missing_descriptor(), 0);
  EXPECT_EQ(descriptor_hint(), "");
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit none = old;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int missing = missing_descriptor();
  const std::string hint = descriptor_hint();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(missing, EMFILE);
  EXPECT_NE(hint.find("ulimit -n"), std::string::npos) << hint;
}

}  // namespace
}  // namespace lci::base
