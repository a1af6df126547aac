#include "lci/base/thread_counts.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(ThreadCounts, AThreadCountsForItself) {
  thread_counts counts;
  thread_number();
  EXPECT_EQ(counts.sum(), 0u);
  EXPECT_EQ(counts.add(), 1u);
  EXPECT_EQ(counts.add(), 2u);
  std::thread other([&counts] {
    thread_number();
    EXPECT_EQ(counts.add(), 1u);
  });
  other.join();
  EXPECT_EQ(counts.add(), 3u);
  EXPECT_EQ(counts.sum(), 4u);
}

TEST(ThreadCounts, NothingIsLostByThreadsWithDifferentSlots) {
  thread_counts counts;
  constexpr uint32_t threads = 4;
  constexpr uint32_t each = 100000;
  std::vector<std::thread> all;
  for (uint32_t t = 0; t < threads; ++t) {
    all.emplace_back([&counts] {
      thread_number();
      for (uint32_t i = 0; i < each; ++i) counts.add();
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT_EQ(counts.sum(), threads * each);
}

}  // namespace
}  // namespace lci::base
