#include "lci/ds/ticket_table.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

using table = ticket_table<int, 31>;

TEST(TicketTable, GivesBackWhatWasInserted) {
  table t;
  int a = 1;
  int b = 2;
  const uint32_t ticket_a = t.insert(&a, 0);
  const uint32_t ticket_b = t.insert(&b, 7);
  EXPECT_NE(ticket_a, ticket_b);
  EXPECT_EQ(t.take(ticket_b, 7), &b);
  EXPECT_EQ(t.take(ticket_a, 0), &a);
}

TEST(TicketTable, ATicketIsGoodOnce) {
  table t;
  int a = 1;
  const uint32_t ticket = t.insert(&a, 3);
  EXPECT_EQ(t.take(ticket, 3), &a);
  EXPECT_EQ(t.take(ticket, 3), nullptr);
  int b = 2;
  const uint32_t again = t.insert(&b, 3);  // the same slot
  EXPECT_NE(again, ticket);
  EXPECT_EQ(t.take(ticket, 3), nullptr);
  EXPECT_EQ(t.take(again, 3), &b);
}

TEST(TicketTable, OnlyForItsOwner) {
  table t;
  int a = 1;
  const uint32_t ticket = t.insert(&a, 3);
  EXPECT_EQ(t.take(ticket, 2), nullptr);
  EXPECT_EQ(t.take(ticket, -1), nullptr);
  EXPECT_EQ(t.take(ticket, 3), &a);
}

TEST(TicketTable, InventedTicketsNameNothing) {
  table t;
  for (uint32_t ticket : {0u, 1u, 63u, 64u, 0xfffffu, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_EQ(t.take(ticket, 0), nullptr);
  }
  int a = 1;
  const uint32_t ticket = t.insert(&a, 0);
  EXPECT_EQ(t.take(ticket + 1, 0), nullptr);
  EXPECT_EQ(t.take(ticket + (1u << table::index_bits), 0), nullptr);
  EXPECT_EQ(t.take(ticket, 0), &a);
}

TEST(TicketTable, TicketsFitTheirBits) {
  table t;
  int a = 1;
  for (int i = 0; i < 5000; ++i) {
    const uint32_t ticket = t.insert(&a, 0);
    ASSERT_LT(ticket, 1u << 31);
    ASSERT_EQ(t.take(ticket, 0), &a);
  }
}

TEST(TicketTable, GrowsAndTakesAllOfAnOwner) {
  table t;
  std::vector<int> values(1000);
  for (size_t i = 0; i < values.size(); ++i) t.insert(&values[i], static_cast<int>(i % 3));
  std::set<int*> taken;
  t.take_all(1, [&](int* value) { EXPECT_TRUE(taken.insert(value).second); });
  EXPECT_EQ(taken.size(), 333u);
  for (int* value : taken) EXPECT_EQ((value - values.data()) % 3, 1);
  t.take_all(1, [](int*) { FAIL() << "taken twice"; });
}

TEST(TicketTable, EachEntryIsTakenByOneThread) {
  table t;
  constexpr int rounds = 300;
  constexpr int width = 8;
  for (int round = 0; round < rounds; ++round) {
    int value = 0;
    const uint32_t ticket = t.insert(&value, 5);
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < width; ++i) {
      threads.emplace_back([&, i] {
        int other = i;
        const uint32_t mine = t.insert(&other, 6);
        if (t.take(ticket, 5) != nullptr) ++winners;
        if (t.take(mine, 6) != &other) winners += 100;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(winners, 1);
  }
}

}  // namespace
}  // namespace lci::ds
