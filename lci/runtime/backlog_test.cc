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
  waiting.push(net::op(), nullptr, errorcode_t::retry_nomem);
  EXPECT_TRUE(is_woken(sleeper));

  sleeper.arm();
  EXPECT_FALSE(is_woken(sleeper));
  later conversation;
  waiting.push(&conversation, backlog::side::receiver);
  EXPECT_TRUE(is_woken(sleeper));
  EXPECT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting.pushed(), 1u);
}

TEST(Backlog, ItsFirstOperationsAreReported) {
  backlog waiting;
  net::op put;
  put.kind = net::op_kind::put;
  put.rank = 3;
  put.size = 8;
  waiting.push(put, nullptr, errorcode_t::retry_lock);
  net::op send;
  send.size = 10;
  const unsigned char header[6] = {};
  send.header = header;
  send.header_size = sizeof(header);
  for (int i = 0; i < 10; ++i) waiting.push(send, nullptr, errorcode_t::retry_nomem);
  observe::rank_report report;
  waiting.describe(&report, 2);
  ASSERT_EQ(report.waiting.size(), 4u);
  EXPECT_EQ(report.waiting[0].device, 2u);
  EXPECT_EQ(report.waiting[0].operation, "put");
  EXPECT_EQ(report.waiting[0].peer, 3);
  EXPECT_EQ(report.waiting[0].size, 8u);
  EXPECT_EQ(report.waiting[0].answer, "retry_lock");
  EXPECT_EQ(report.waiting[1].operation, "send");
  EXPECT_EQ(report.waiting[1].size, 16u);
  EXPECT_EQ(report.waiting[1].answer, "retry_nomem");
}

}  // namespace
}  // namespace lci::rt
