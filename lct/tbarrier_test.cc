#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"

namespace lct {
namespace {

TEST(tbarrier, one_thread_passes_at_once) {
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(LCT_tbarrier_test(barrier, LCT_tbarrier_arrive(barrier)));
    LCT_tbarrier_arrive_and_wait(barrier);
  }
  LCT_tbarrier_free(&barrier);
  EXPECT_EQ(barrier, nullptr);
}

TEST(tbarrier, is_passed_when_the_last_thread_arrives) {
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(3);
  for (int pass = 0; pass < 3; ++pass) {
    const int64_t first = LCT_tbarrier_arrive(barrier);
    EXPECT_FALSE(LCT_tbarrier_test(barrier, first));
    const int64_t second = LCT_tbarrier_arrive(barrier);
    EXPECT_FALSE(LCT_tbarrier_test(barrier, first));
    const int64_t third = LCT_tbarrier_arrive(barrier);
    for (const int64_t ticket : {first, second, third}) {
      EXPECT_TRUE(LCT_tbarrier_test(barrier, ticket));
      LCT_tbarrier_wait(barrier, ticket);
    }
  }
  LCT_tbarrier_free(&barrier);
}

// More threads than processors. The values are not atomic: only the barrier orders them.
TEST(tbarrier, writes_before_are_seen_after) {
  constexpr int threads = 16;
  constexpr int passes = 50;
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(threads);
  std::vector<int> values(threads, -1);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      for (int pass = 0; pass < passes; ++pass) {
        values[static_cast<size_t>(me)] = pass;
        if (pass % 2 == 0) {
          LCT_tbarrier_arrive_and_wait(barrier);
        } else {
          const int64_t ticket = LCT_tbarrier_arrive(barrier);
          while (!LCT_tbarrier_test(barrier, ticket)) std::this_thread::yield();
        }
        for (const int value : values) {
          if (value != pass) ++wrong;
        }
        LCT_tbarrier_arrive_and_wait(barrier);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  LCT_tbarrier_free(&barrier);
}

TEST(tbarrier, mistakes_are_named) {
  for (const int threads : {0, -2}) {
    try {
      LCT_tbarrier_alloc(threads);
      ADD_FAILURE() << threads;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("nthreads is " + std::to_string(threads)));
    }
  }
  EXPECT_THROW(LCT_tbarrier_arrive(nullptr), std::runtime_error);
  LCT_tbarrier_t none = nullptr;
  testing::internal::CaptureStderr();
  LCT_tbarrier_free(&none);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("to be freed is null"));
}

}  // namespace
}  // namespace lct
