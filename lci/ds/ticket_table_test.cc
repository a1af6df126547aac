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

TEST(TicketTable, AFullTableGivesNoTicket) {
  for (const uint32_t limit : {1u, 64u, 100u, 192u, 1000u}) {
    table t;
    t.set_limit(limit);
    std::vector<int> values(limit);
    std::vector<uint32_t> tickets;
    for (int& value : values) {
      tickets.push_back(t.insert(&value, 4));
      ASSERT_NE(tickets.back(), table::none) << limit;
    }
    int more = 0;
    EXPECT_EQ(t.insert(&more, 4), table::none) << limit;
    EXPECT_EQ(t.insert(&more, 4), table::none) << limit;
    EXPECT_EQ(t.take(tickets[limit / 2], 4), &values[limit / 2]);
    const uint32_t again = t.insert(&more, 4);
    EXPECT_NE(again, table::none);
    EXPECT_EQ(t.insert(&more, 4), table::none) << limit;
    EXPECT_EQ(t.take(again, 4), &more);
    int left = 0;
    t.take_all(4, [&left](int*) { ++left; });
    EXPECT_EQ(left, static_cast<int>(limit) - 1);
  }
}

TEST(TicketTable, HoldsAsManyAsItsIndexCanName) {
  table t;
  int a = 1;
  std::vector<uint32_t> tickets(size_t{1} << table::index_bits);
  for (uint32_t& ticket : tickets) {
    ticket = t.insert(&a, 0);
    ASSERT_LT(ticket, 1u << 31);
  }
  EXPECT_EQ(t.insert(&a, 0), table::none);
  for (const uint32_t ticket : tickets) ASSERT_EQ(t.take(ticket, 0), &a);
  EXPECT_NE(t.insert(&a, 0), table::none);
}

// Threads that share a table of 2 entries: it is never fuller, and no entry gets lost.
TEST(TicketTable, ThreadsAtTheLimit) {
  table t;
  t.set_limit(2);
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&t, &inside, i] {
      for (int round = 0; round < 20000;) {
        int value = round;
        const uint32_t ticket = t.insert(&value, i);
        if (ticket == table::none) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_LE(++inside, 2);
        --inside;
        ASSERT_EQ(t.take(ticket, i), &value);
        ++round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
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

TEST(TicketTable, ForEachSeesWhatIsThere) {
  table t;
  int values[] = {1, 2, 3};
  for (int& value : values) t.insert(&value, 5);
  const uint32_t taken = t.insert(&values[0], 6);
  EXPECT_EQ(t.take(taken, 6), &values[0]);
  int sum = 0;
  t.for_each([&sum](const int& value) { sum += value; });
  EXPECT_EQ(sum, 6);
  // All can still be taken.
  int count = 0;
  t.take_all(5, [&count](int*) { ++count; });
  EXPECT_EQ(count, 3);
}

// An entry that for_each looks at is not taken meanwhile, so its value is still that of the ticket.
TEST(TicketTable, ForEachBesideTakes) {
  struct entry {
    int value;  // plain, so that the thread sanitizer sees a race
  };
  ticket_table<entry, 31> t;
  std::atomic<bool> finished{false};
  std::thread taker([&] {
    std::vector<entry> entries(64);
    std::vector<uint32_t> tickets(entries.size());
    for (int round = 0; round < 2000; ++round) {
      for (size_t i = 0; i < entries.size(); ++i) {
        entries[i].value = 1;
        tickets[i] = t.insert(&entries[i], 3);
      }
      for (size_t i = 0; i < entries.size(); ++i) {
        if (round % 2 == 0) {
          EXPECT_EQ(t.take(tickets[i], 3), &entries[i]);
          entries[i].value = 0;
        }
      }
      t.take_all(3, [](entry* taken) { taken->value = 0; });
      for (const entry& each : entries) EXPECT_EQ(each.value, 0);
    }
    finished = true;
  });
  while (!finished) {
    t.for_each([](const entry& each) { EXPECT_EQ(each.value, 1); });
  }
  taker.join();
}

}  // namespace
}  // namespace lci::ds
