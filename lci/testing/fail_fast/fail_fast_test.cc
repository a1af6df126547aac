#include "lci/testing/fail_fast/fail_fast.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace lci {
namespace {

struct outcome {
  int status;  // as of waitpid
  std::string output;
};

// Runs `body` in a process of its own, which then exits with 0. (Not as a death test, in which
// GoogleTest calls no listener.)
template <class Body>
outcome run_in_child(const Body& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(0);
  }
  close(ends[1]);
  outcome result{-1, {}};
  char bytes[1024];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof(bytes))) > 0;) {
    result.output.append(bytes, static_cast<size_t>(count));
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &result.status, 0), child);
  return result;
}

[[noreturn]] void wait_forever() {
  for (;;) pause();
}

TEST(FailFast, ARankThatWaitsEndsAfterTheFailureOfAnother) {
  const outcome child = run_in_child([] {
    const fail_fast guard;
    std::thread([] { ADD_FAILURE() << "the reason"; }).detach();
    wait_forever();
  });
  EXPECT_TRUE(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGABRT) << child.status;
  const size_t reason = child.output.find("the reason");
  ASSERT_NE(reason, std::string::npos) << child.output;
  EXPECT_NE(child.output.find("an assertion of one rank has failed", reason), std::string::npos)
      << child.output;
}

TEST(FailFast, ATestThatEndsByItselfIsNotAborted) {
  const outcome child = run_in_child([] {
    {
      const fail_fast outer;
      {
        const fail_fast inner;
        ADD_FAILURE() << "first";
      }
      const unsigned left = alarm(0);
      if (left == 0) _exit(3);
      alarm(left);
    }
    if (alarm(0) != 0) _exit(4);
    ADD_FAILURE() << "not of several ranks";
    if (alarm(0) != 0) _exit(5);
    const fail_fast again;
    ADD_FAILURE() << "second";
    if (alarm(0) == 0) _exit(6);
  });
  EXPECT_EQ(child.status, 0) << child.output;
}

TEST(FailFast, ASkippedTestHasNotFailed) {
  const outcome child = run_in_child([] {
    const fail_fast guard;
    [] { GTEST_SKIP() << "nothing to do"; }();
    if (alarm(0) != 0) _exit(3);
  });
  EXPECT_EQ(child.status, 0) << child.output;
}

}  // namespace
}  // namespace lci
