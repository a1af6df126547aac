#include "lci/runtime/protocol/backlog.h"

#include <poll.h>

#include "gtest/gtest.h"
#include "lci/base/wakeup.h"

namespace lci::rt {
namespace {

bool is_woken(const base::wakeup& sleeper) {
  pollfd event{sleeper.descriptor(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

class later final : public postponed {
 public:
  bool try_begin(protocol_host&) override { return false; }
};

// A thread that sleeps on the device learns only from this of the work that another thread's post
// has left.
TEST(Backlog, APushWakesASleepingThread) {
  base::wakeup sleeper;
  ASSERT_TRUE(sleeper.open());
  backlog waiting;
  waiting.set_sleeper(&sleeper);

  sleeper.arm();
  EXPECT_FALSE(is_woken(sleeper));
  waiting.push(net::op(), nullptr);
  EXPECT_TRUE(is_woken(sleeper));

  sleeper.arm();
  EXPECT_FALSE(is_woken(sleeper));
  later conversation;
  waiting.push(&conversation, backlog::side::receiver);
  EXPECT_TRUE(is_woken(sleeper));
  EXPECT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting.pushed(), 1u);
}

}  // namespace
}  // namespace lci::rt
