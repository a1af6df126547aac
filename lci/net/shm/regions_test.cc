#include "lci/net/shm/regions.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

class Regions : public testing::Test {
 protected:
  Regions() : slots_(new region_slot[directory_capacity]()) { table_.attach(slots_.get(), 1000); }

  static bool is_open(region_table::user& user, remote_region region) {
    const region_table::user::use use(user, region, 0, sizeof(uint64_t));
    return use.address() != nullptr;
  }

  std::unique_ptr<region_slot[]> slots_;
  region_table table_;
};

TEST_F(Regions, AUserFindsWhatIsOpenAndNothingElse) {
  uint64_t memory[4] = {};
  region_table::user user(table_);
  const local_region opened = table_.open(memory, sizeof(memory)).value();
  const remote_region region = table_.remote(opened);
  const auto address = [&](remote_region asked, uint64_t offset, size_t size) {
    return region_table::user::use(user, asked, offset, size).address();
  };
  EXPECT_EQ(address(region, 8, 24), &memory[1]);
  EXPECT_EQ(address(region, 32, 0), memory + 4);
  EXPECT_EQ(address(region, 8, 25), nullptr);
  EXPECT_EQ(address(region, 33, 0), nullptr);
  EXPECT_EQ(address({region.base, region.key + 1}, 0, 8), nullptr);
  EXPECT_EQ(address({region.base, 0}, 0, 8), nullptr);
  EXPECT_EQ(address({region.base + 1, region.key}, 0, 8), nullptr);
  EXPECT_EQ(address({region.base + directory_capacity, region.key}, 0, 8), nullptr);
  EXPECT_EQ(address({region.base + (uint64_t{1} << 32), region.key}, 0, 8), nullptr);
  table_.close(opened);
  EXPECT_EQ(address(region, 0, 8), nullptr);
}

TEST_F(Regions, ACloseWaitsForTheEndOfAUse) {
  uint64_t memory = 0;
  region_table::user user(table_);
  const local_region opened = table_.open(&memory, sizeof(memory)).value();
  const remote_region region = table_.remote(opened);
  std::atomic<bool> is_closed{false};
  std::optional<region_table::user::use> use(std::in_place, user, region, 0, sizeof(memory));
  EXPECT_EQ(use->address(), &memory);
  std::thread closer([&] {
    table_.close(opened);
    is_closed = true;
  });
  while (slots_[region.base].key != 0) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(is_closed);
  use.reset();
  closer.join();
  EXPECT_TRUE(is_closed);
}

// One thread opens memory, gives it to a user, and closes the memory while that one may use it. Then
// nobody else writes there.
TEST_F(Regions, ACloseWaitsForUsersOfTheMemory) {
  constexpr int rounds = 2000;
  constexpr int users = 2;
  uint64_t memory[users] = {};
  std::atomic<uint64_t> given{0};  // the key; the slot is always the same
  std::atomic<bool> is_over{false};
  std::atomic<int> uses{0};
  const local_region first = table_.open(memory, sizeof(memory)).value();
  const uint64_t base = table_.remote(first).base;
  table_.close(first);
  std::vector<std::thread> threads;
  threads.reserve(users);
  for (int i = 0; i < users; ++i) {
    threads.emplace_back([&, i] {
      region_table::user user(table_);
      const auto add_one = [&] {
        const remote_region region{base, given.load()};
        const region_table::user::use use(user, region, sizeof(uint64_t) * static_cast<size_t>(i),
                                          sizeof(uint64_t));
        auto* const word = static_cast<uint64_t*>(use.address());
        if (word == nullptr) return false;
        *word = *word + 1;
        uses.fetch_add(1, std::memory_order_relaxed);
        return true;
      };
      while (!is_over) {
        if (!add_one()) std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < rounds; ++i) {
    const local_region opened = table_.open(memory, sizeof(memory)).value();
    ASSERT_EQ(table_.remote(opened).base, base);
    const int before = uses.load(std::memory_order_relaxed);
    given = table_.remote(opened).key;
    while (i % 100 == 0 && uses.load(std::memory_order_relaxed) == before) {
      std::this_thread::yield();
    }
    table_.close(opened);
    const uint64_t left[users] = {memory[0], memory[1]};
    memory[0] = left[0] + 1;
    memory[1] = left[1] + 1;
    EXPECT_EQ(memory[0], left[0] + 1);
    EXPECT_EQ(memory[1], left[1] + 1);
  }
  is_over = true;
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(memory[0] + memory[1], static_cast<uint64_t>(users * rounds + uses));
}

// One that is gone keeps nobody waiting.
TEST_F(Regions, UsersComeAndGo) {
  uint64_t memory = 0;
  std::optional<region_table::user> one(std::in_place, table_);
  region_table::user other(table_);
  for (int i = 0; i < 3; ++i) {
    const local_region opened = table_.open(&memory, sizeof(memory)).value();
    EXPECT_TRUE(is_open(other, table_.remote(opened)));
    EXPECT_EQ(one.has_value() && is_open(*one, table_.remote(opened)), i == 0);
    one.reset();
    table_.close(opened);
  }
}

}  // namespace
}  // namespace lci::net::shm
