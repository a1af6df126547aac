#include "lci/base/system.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
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

// In a child, which has no stream to report a failure to: its exit code is the number of the check.
TEST(System, ClosedStandardStreamsAreOpened) {
  for (const int closed : {0b001, 0b010, 0b100, 0b101, 0b111}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int fd = 0; fd < 3; ++fd) {
        if ((closed & (1 << fd)) != 0) close(fd);
      }
      open_standard_streams();
      const int next = open("/dev/null", O_RDONLY);
      if (next < 3) _exit(1);
      for (int fd = 0; fd < 3; ++fd) {
        char byte;
        if ((closed & (1 << fd)) == 0) continue;
        if (read(fd, &byte, 1) != 0) _exit(2);
        if (write(fd, "x", 1) != 1) _exit(3);
        // The programs that the process executes need them, too.
        if (fcntl(fd, F_GETFD) != 0) _exit(4);
      }
      close(next);
      open_standard_streams();  // has nothing to do
      if (open("/dev/null", O_RDONLY) != next) _exit(5);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0) << closed;
    EXPECT_TRUE(WIFEXITED(status)) << closed;
  }
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
  EXPECT_EQ(write_all(ends[1], "nobody reads this"), EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace lci::base
