#include "lci/ds/object_pool.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

TEST(ObjectPool, GivesDistinctObjects) {
  object_pool<int> pool;
  std::set<int*> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(pool.make()).second);
}

TEST(ObjectPool, UsesAnObjectAgain) {
  object_pool<int> pool;
  int* first = pool.make();
  pool.recycle(first);
  EXPECT_EQ(pool.make(), first);
}

TEST(ObjectPool, CountsWhatIsInUse) {
  object_pool<int> pool;
  EXPECT_EQ(pool.in_use(), 0u);
  int* first = pool.make();
  pool.make();
  EXPECT_EQ(pool.in_use(), 2u);
  pool.recycle(first);
  EXPECT_EQ(pool.in_use(), 1u);
}

// Objects that one thread makes and another one recycles come back: the pool does not grow.
TEST(ObjectPool, ObjectsComeBackFromAnotherThread) {
  for (const size_t together : {1, 5, 8}) {
    object_pool<int> pool;
    std::set<int*> seen;
    for (int round = 0; round < 20; ++round) {
      std::vector<int*> made;
      for (int i = 0; i < 1000; ++i) made.push_back(pool.make());
      seen.insert(made.begin(), made.end());
      std::thread([&] {
        for (size_t i = 0; i < made.size(); i += together) {
          together == 1 ? pool.recycle(made[i]) : pool.recycle(&made[i], together);
        }
      }).join();
      EXPECT_EQ(pool.in_use(), 0u);
    }
    // Two batches stay with the other thread, and the pool grows by half of a batch.
    EXPECT_LE(seen.size(), 1000u + 2 * 64 + 32) << together << " together";
  }
}

TEST(ObjectPool, TakesSeveralObjectsBack) {
  constexpr size_t batch = 4;
  for (size_t kept = 0; kept <= 2 * batch; ++kept) {
    for (size_t together = 0; together <= 2 * batch; ++together) {
      object_pool<int, std_atomics, batch> pool;
      std::vector<int*> made;
      for (size_t i = 0; i < kept + together; ++i) made.push_back(pool.make());
      for (size_t i = 0; i < kept; ++i) pool.recycle(made[i]);
      EXPECT_EQ(pool.in_use(), together);
      pool.recycle(made.data() + kept, together);
      EXPECT_EQ(pool.in_use(), 0u);
      std::vector<int*> again;
      for (size_t i = 0; i < made.size(); ++i) again.push_back(pool.make());
      if (!made.empty()) {
        EXPECT_EQ(again.front(), made.back()) << "the last one is the first";
      }
      EXPECT_EQ(std::set<int*>(again.begin(), again.end()).size(), made.size());
    }
  }
}

template <class Pool>
class ObjectPools : public testing::Test {};
struct item {
  std::atomic<int> owners{0};
};
using PoolTypes = testing::Types<object_pool<item>, object_pool<item, std_atomics, 1>>;
TYPED_TEST_SUITE(ObjectPools, PoolTypes);

TYPED_TEST(ObjectPools, NoObjectHasTwoOwners) {
  TypeParam pool;
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        item* a = pool.make();
        item* b = pool.make();
        if (a->owners.fetch_add(1) != 0 || b->owners.fetch_add(1) != 0) shared = true;
        a->owners.fetch_sub(1);
        b->owners.fetch_sub(1);
        if (i % 3 == 0) {
          item* const both[] = {a, b};
          pool.recycle(both, 2);
          continue;
        }
        pool.recycle(a);
        pool.recycle(b);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
  EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace lci::ds
