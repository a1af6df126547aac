#include "lci/base/system.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(System, TheHostsNameIsThatOfUname) {
  utsname known = {};
  ASSERT_EQ(uname(&known), 0);
  EXPECT_EQ(host_name(), known.nodename);
}

TEST(System, WritesMoreThanAPipeHolds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string sent(3 << 20, 'x');
  std::thread writer([&] {
    write_all(ends[1], sent);
    close(ends[1]);
  });
  std::string got;
  char some[4096];
  for (ssize_t n = 0; (n = read(ends[0], some, sizeof(some))) > 0;) {
    got.append(some, static_cast<size_t>(n));
  }
  writer.join();
  close(ends[0]);
  EXPECT_EQ(got, sent);
}

TEST(System, RandomBytesDiffer) {
  EXPECT_EQ(random_bytes(0), "");
  const std::string some = random_bytes(1000);
  EXPECT_EQ(some.size(), 1000U);
  EXPECT_NE(some, std::string(1000, '\0'));
  EXPECT_NE(some, random_bytes(1000));
  // Also the last ones.
  EXPECT_NE(some.substr(992), std::string(8, '\0'));
}

TEST(System, RandomNumbersDiffer) {
  const StatusOr<uint64_t> first = random_number();
  const StatusOr<uint64_t> second = random_number();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  // All of their bits: one in 2^32 runs has the same upper half.
  EXPECT_NE(*first >> 32, *second >> 32);
}

TEST(System, AWriteEndsWithItsReader) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  write_all(ends[1], "nobody reads this");
  EXPECT_EQ(errno, EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace lci::base
