#include "lci/ds/mpmc_array.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

TEST(MpmcArray, ElementsThatWereNeverSetAreZero) {
  mpmc_array<int*> array;
  EXPECT_EQ(array.get(0), nullptr);
  EXPECT_EQ(array.get(1000000), nullptr);
  int x = 0;
  array.set(5, &x);
  EXPECT_EQ(array.get(5), &x);
  EXPECT_EQ(array.get(4), nullptr);
  EXPECT_EQ(array.get(6), nullptr);
}

TEST(MpmcArray, KeepsItsElementsWhenItGrows) {
  mpmc_array<size_t> array;
  for (size_t i = 0; i < 1000; ++i) array.set(i, i + 1);
  array.set(100000, 7);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(array.get(i), i + 1);
  EXPECT_EQ(array.get(100000), 7u);
}

TEST(MpmcArray, ReadersSeeWhatWasSetBeforeTheyWereTold) {
  constexpr size_t count = 5000;
  mpmc_array<size_t> array;
  std::atomic<size_t> published{0};
  std::atomic<size_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      size_t seen = 0;
      while (seen < count) {
        seen = published.load(std::memory_order_acquire);
        for (size_t i = seen > 20 ? seen - 20 : 0; i < seen; ++i) {
          if (array.get(i) != i + 1) ++wrong;
        }
        std::this_thread::yield();
      }
    });
  }
  for (size_t i = 0; i < count; ++i) {
    array.set(i, i + 1);
    published.store(i + 1, std::memory_order_release);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace lci::ds
