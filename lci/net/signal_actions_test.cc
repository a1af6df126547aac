#include "lci/net/signal_actions.h"

#include <unistd.h>

#include <csignal>

#include "gtest/gtest.h"

namespace lci::net {
namespace {

void of_program(int) {}
void of_library(int) {}

struct sigaction action_of(int signal) {
  struct sigaction now = {};
  EXPECT_EQ(sigaction(signal, nullptr, &now), 0);
  return now;
}

TEST(SignalActions, AreThoseFromBefore) {
  struct sigaction own = {};
  own.sa_handler = of_program;
  own.sa_flags = SA_RESTART;
  sigaddset(&own.sa_mask, SIGUSR2);
  ASSERT_EQ(sigaction(SIGUSR1, &own, nullptr), 0);
  // A sanitizer has some of its own.
  const auto segv = action_of(SIGSEGV).sa_handler;
  const auto term = action_of(SIGTERM).sa_handler;
  const auto first_of_user = action_of(SIGRTMIN).sa_handler;
  {
    const signal_actions kept;
    for (const int signal : {SIGSEGV, SIGTERM, SIGUSR1, SIGRTMIN}) {
      ASSERT_NE(std::signal(signal, of_library), SIG_ERR);
    }
  }
  EXPECT_EQ(action_of(SIGSEGV).sa_handler, segv);
  EXPECT_EQ(action_of(SIGTERM).sa_handler, term);
  EXPECT_EQ(action_of(SIGRTMIN).sa_handler, first_of_user);
  const struct sigaction restored = action_of(SIGUSR1);
  EXPECT_EQ(restored.sa_handler, of_program);
  EXPECT_EQ(restored.sa_flags & SA_RESTART, SA_RESTART);
  EXPECT_EQ(sigismember(&restored.sa_mask, SIGUSR2), 1);
}

int taken_by_program = 0;
int taken_by_library = 0;

TEST(SignalActions, KeepSignalsForTheProgram) {
  const auto before = std::signal(SIGTERM, [](int) { ++taken_by_program; });
  {
    const signal_actions kept;
    std::signal(SIGTERM, [](int) { ++taken_by_library; });
    ASSERT_EQ(kill(getpid(), SIGTERM), 0);
    EXPECT_EQ(taken_by_program + taken_by_library, 0);
  }
  EXPECT_EQ(taken_by_program, 1);
  EXPECT_EQ(taken_by_library, 0);
  // The mask is that from before.
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_EQ(taken_by_program, 2);
  std::signal(SIGTERM, before);
}

}  // namespace
}  // namespace lci::net
