#include "lci/base/thread_place.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(ThreadPlace, ThreadsHaveTheOrderOfTheirCreation) {
  constexpr uint32_t threads = 8;
  // They ask in the opposite order, once all have been created.
  std::atomic<uint32_t> next{0};
  std::atomic<uint32_t> finished{0};
  uint32_t places[threads] = {};
  std::vector<std::thread> all;
  const uint32_t own = thread_place();
  for (uint32_t t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      EXPECT_EQ(known_thread_place(), UINT32_MAX);
      while (next.load() != t + 1) std::this_thread::yield();
      places[t] = thread_place();
      EXPECT_EQ(known_thread_place(), places[t]);
      next.store(t);
      // Nobody ends before all have asked.
      ++finished;
      while (finished.load() != threads) std::this_thread::yield();
    });
  }
  next.store(threads);
  for (std::thread& one : all) one.join();
  // (Another thread, such as a sanitizer's, may have been created in between.)
  for (uint32_t t = 0; t < threads; ++t) {
    EXPECT_GT(places[t], t == 0 ? own : places[t - 1]);
  }
  EXPECT_EQ(thread_place(), own) << "it does not change";
}

}  // namespace
}  // namespace lci::base
