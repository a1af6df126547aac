#include "lci/net/capacity.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net {
namespace {

using testing::HasSubstr;

TEST(Queues, AreSums) {
  const auto queues = sum_queues(1024, 4096, 65536, 0.25);
  ASSERT_TRUE(queues.ok()) << queues.status();
  EXPECT_EQ(queues->sends_of_posts, 768u);
  EXPECT_EQ(queues->sends_of_progress, 256u);
  EXPECT_EQ(queues->receives, 4096u);
  EXPECT_EQ(queues->completions(), 5120u);
}

// Neither posts nor answers are ever left without one.
TEST(Queues, HaveRoomForBothKindsOfSends) {
  for (const double part : {0.0, 0.1, 0.5, 0.9}) {
    for (const size_t sends : {size_t{2}, size_t{3}, size_t{10}, size_t{1000}}) {
      const auto queues = sum_queues(sends, 1, 2000, part);
      ASSERT_TRUE(queues.ok()) << queues.status();
      EXPECT_GE(queues->sends_of_posts, 1u);
      EXPECT_GE(queues->sends_of_progress, 1u);
      EXPECT_EQ(queues->sends(), sends);
    }
  }
}

TEST(Queues, RefuseWhatDoesNotAddUp) {
  const auto error = [](size_t sends, size_t receives, size_t completions, double part) {
    return std::string(sum_queues(sends, receives, completions, part).status().message());
  };
  EXPECT_EQ(error(10, 20, 30, 0.25), "");
  EXPECT_THAT(error(10, 20, 29, 0.25), HasSubstr("net_max_cqes is 29, less than"));
  EXPECT_THAT(error(1, 20, 100, 0.25), HasSubstr("net_max_sends is 1, not 2"));
  EXPECT_THAT(error(size_t{1} << 31, 20, size_t{1} << 62, 0.25), HasSubstr("net_max_sends is"));
  EXPECT_THAT(error(10, 0, 100, 0.25), HasSubstr("net_max_recvs is 0"));
  EXPECT_THAT(error(10, 20, 100, 0.95), HasSubstr("net_send_reserved_pct is 0.95"));
  EXPECT_THAT(error(10, 20, 100, -0.1), HasSubstr("net_send_reserved_pct is -0.1"));
  EXPECT_THAT(error(10, 20, 100, std::nan("")), HasSubstr("net_send_reserved_pct is"));
}

TEST(Rings, ShareEightMebibytes) {
  EXPECT_EQ(ring_bytes(8192, 2), size_t{256} << 10);
  EXPECT_EQ(ring_bytes(8192, 64), size_t{128} << 10);
  EXPECT_EQ(ring_bytes(8192, 1000), size_t{64} << 10);
  EXPECT_EQ(ring_bytes(65536 + 72, 1000), 4 * (size_t{65536} + 72));
}

}  // namespace
}  // namespace lci::net
