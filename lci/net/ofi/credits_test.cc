#include "lci/net/ofi/credits.h"

#include <random>

#include "gtest/gtest.h"
#include "lci/net/ofi/immediate.h"

namespace lci::net::ofi {
namespace {

TEST(Credits, AreDividedAmongThePeers) {
  EXPECT_EQ(choose_credits(4096, 1), 64u);
  EXPECT_EQ(choose_credits(4096, 64), 61u);
  EXPECT_EQ(choose_credits(256, 3), 64u);
  EXPECT_EQ(choose_credits(256, 200), 1u);  // at least one
  EXPECT_EQ(receives_needed(61, 64), 4096u);
}

TEST(Credits, NoMoreComeBackThanWereSpent) {
  credits local;
  local.set(2);
  EXPECT_FALSE(local.earn(1));
  local.spend();
  local.spend();
  EXPECT_FALSE(local.any());
  EXPECT_FALSE(local.earn(3));
  EXPECT_TRUE(local.earn(2));
  EXPECT_TRUE(local.any());
}

TEST(Credits, APacketThatDidNotLeaveReturnsNone) {
  credits local;
  local.set(4);
  local.owe();
  EXPECT_FALSE(local.owes_many());
  local.owe();
  EXPECT_TRUE(local.owes_many());
  const uint8_t paid = local.pay();
  EXPECT_EQ(paid, 2);
  EXPECT_FALSE(local.owes_many());
  local.unpay(paid);
  EXPECT_TRUE(local.owes_many());
}

// Two ranks send, receive and return credits in random order. A rank never has more packets than
// receives, and some step is always possible while a rank has something to send.
TEST(Credits, ReceivesSufficeAndNoRankIsStuck) {
  for (const int number : {1, 2, 3, 5, 64}) {
    const auto each = static_cast<uint8_t>(number);
    std::mt19937 random(each);
    struct side {
      credits credit;
      size_t costly = 0;  // packets in flight to this side that cost a credit
      size_t free = 0;    // packets in flight to this side that cost none
      size_t given_back[256] = {};
      size_t first = 0, last = 0;  // of given_back: credits in each packet in flight to this side
    } sides[2];
    for (side& s : sides) s.credit.set(each);
    const auto send = [&](int from, bool costs) {
      side& to = sides[1 - from];
      to.given_back[to.last++ % 256] =
          sides[from].credit.pay() + (costs ? size_t{1000} : size_t{0});
      ++(costs ? to.costly : to.free);
      if (costs) sides[from].credit.spend();
      ASSERT_LE(to.costly + to.free,
                receives_needed(each, 1) - 1);  // one receive is for the first packet and bye
    };
    size_t sent = 0;
    for (int step = 0; step < 20000; ++step) {
      const int who = static_cast<int>(random() % 2);
      side& s = sides[who];
      const auto choice = random() % 4;
      if (choice < 2 && s.credit.any()) {
        send(who, true);
        ++sent;
      } else if (choice == 2 && s.first != s.last) {
        const size_t packet = s.given_back[s.first++ % 256];
        ASSERT_TRUE(s.credit.earn(static_cast<uint8_t>(packet % 1000)));
        --(packet >= 1000 ? s.costly : s.free);
        if (packet >= 1000) s.credit.owe();
      } else if (choice == 3 && s.credit.owes_many()) {
        send(who, false);
      }
    }
    EXPECT_GT(sent, 1000u) << "with " << int{each};
  }
}

TEST(Immediate, EightBytesHoldTheRankToo) {
  EXPECT_TRUE(immediate_layout(8).fits());
  for (const int rank : {0, 1, 0x7fffffff}) {
    const uint64_t data = immediate_layout::encode(rank, 0xdeadbeef);
    EXPECT_EQ(immediate_layout::rank(data), static_cast<uint32_t>(rank));
    EXPECT_EQ(immediate_layout::imm(data), 0xdeadbeef);
  }
}

TEST(Immediate, FourBytesDoNotHoldTheRank) {
  EXPECT_FALSE(immediate_layout(4).fits());
  EXPECT_FALSE(immediate_layout(0).fits());
}

}  // namespace
}  // namespace lci::net::ofi
