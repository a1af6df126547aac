#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"

namespace lct {
namespace {

const LCT_queue_type_t all_types[] = {LCT_QUEUE_ARRAY_ATOMIC_FAA,
                                      LCT_QUEUE_ARRAY_ATOMIC_CAS,
                                      LCT_QUEUE_ARRAY_ATOMIC_BASIC,
                                      LCT_QUEUE_ARRAY_ST,
                                      LCT_QUEUE_ARRAY_MUTEX,
                                      LCT_QUEUE_STD,
                                      LCT_QUEUE_STD_MUTEX,
                                      LCT_QUEUE_MS,
                                      LCT_QUEUE_LCRQ,
                                      LCT_QUEUE_LPRQ,
                                      LCT_QUEUE_FAAARRAY,
                                      LCT_QUEUE_LAZY_INDEX};

bool is_of_one_thread(LCT_queue_type_t type) {
  return type == LCT_QUEUE_ARRAY_ST || type == LCT_QUEUE_STD;
}

bool is_bounded(LCT_queue_type_t type) { return type <= LCT_QUEUE_ARRAY_MUTEX; }

// A pointer that is never dereferenced, for a number from 0.
void* as_pointer(uintptr_t number) { return reinterpret_cast<void*>(number + 1); }
uintptr_t as_number(void* pointer) { return reinterpret_cast<uintptr_t>(pointer) - 1; }

class Queues : public testing::TestWithParam<LCT_queue_type_t> {};
INSTANTIATE_TEST_SUITE_P(AllTypes, Queues, testing::ValuesIn(all_types));

TEST_P(Queues, keeps_the_order_and_is_empty_in_the_end) {
  constexpr uintptr_t length = 64;
  LCT_queue_t queue = LCT_queue_alloc(GetParam(), length);
  EXPECT_EQ(LCT_queue_pop(queue), nullptr);
  for (int round = 0; round < 10; ++round) {
    for (uintptr_t i = 0; i < length; ++i) LCT_queue_push(queue, as_pointer(i));
    for (uintptr_t i = 0; i < length; ++i) ASSERT_EQ(LCT_queue_pop(queue), as_pointer(i));
    EXPECT_EQ(LCT_queue_pop(queue), nullptr);
  }
  LCT_queue_free(&queue);
  EXPECT_EQ(queue, nullptr);
}

TEST_P(Queues, is_bounded_or_not) {
  constexpr uintptr_t length = 64;
  LCT_queue_t queue = LCT_queue_alloc(GetParam(), length);
  for (uintptr_t i = 0; i < length; ++i) LCT_queue_push(queue, as_pointer(i));
  if (is_bounded(GetParam())) {
    try {
      LCT_queue_push(queue, as_pointer(length));
      ADD_FAILURE() << "the queue was not full";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("the queue is full"));
    }
  } else {
    for (uintptr_t i = length; i < 100 * length; ++i) LCT_queue_push(queue, as_pointer(i));
  }
  const uintptr_t pushed = is_bounded(GetParam()) ? length : 100 * length;
  for (uintptr_t i = 0; i < pushed; ++i) ASSERT_EQ(LCT_queue_pop(queue), as_pointer(i));
  EXPECT_EQ(LCT_queue_pop(queue), nullptr);
  LCT_queue_free(&queue);
}

// No pointer is lost or popped twice, and the pointers of each producer arrive in its order.
TEST_P(Queues, serves_many_threads) {
  if (is_of_one_thread(GetParam())) GTEST_SKIP() << "a queue for one thread";
  constexpr uintptr_t producers = 4;
  constexpr int consumers = 4;
  constexpr uintptr_t values = 1000;
  LCT_queue_t queue = LCT_queue_alloc(GetParam(), producers * values);
  std::vector<std::atomic<int>> seen(producers * values);
  std::atomic<uintptr_t> popped{0};
  std::atomic<int> disordered{0};
  LCT_tbarrier_t start = LCT_tbarrier_alloc(static_cast<int>(producers) + consumers);
  std::vector<std::thread> threads;
  for (uintptr_t p = 0; p < producers; ++p) {
    threads.emplace_back([&, p] {
      LCT_tbarrier_arrive_and_wait(start);
      for (uintptr_t i = 0; i < values; ++i) LCT_queue_push(queue, as_pointer(p * values + i));
    });
  }
  for (int c = 0; c < consumers; ++c) {
    threads.emplace_back([&] {
      LCT_tbarrier_arrive_and_wait(start);
      std::vector<uintptr_t> next(producers, 0);
      while (popped < producers * values) {
        void* const pointer = LCT_queue_pop(queue);
        if (pointer == nullptr) {
          std::this_thread::yield();
          continue;
        }
        const uintptr_t number = as_number(pointer);
        if (number % values < next[number / values]) ++disordered;
        next[number / values] = number % values + 1;
        ++seen[number];
        ++popped;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  LCT_tbarrier_free(&start);
  EXPECT_EQ(disordered, 0);
  for (const std::atomic<int>& count : seen) ASSERT_EQ(count, 1);
  EXPECT_EQ(LCT_queue_pop(queue), nullptr);
  LCT_queue_free(&queue);
}

TEST_P(Queues, refuses_null) {
  LCT_queue_t queue = LCT_queue_alloc(GetParam(), 4);
  EXPECT_THROW(LCT_queue_push(queue, nullptr), std::runtime_error);
  LCT_queue_free(&queue);
}

TEST_P(Queues, has_a_length_if_it_is_bounded) {
  if (is_bounded(GetParam())) {
    EXPECT_THROW(LCT_queue_alloc(GetParam(), 0), std::runtime_error);
  } else {
    LCT_queue_t queue = LCT_queue_alloc(GetParam(), 0);
    LCT_queue_push(queue, as_pointer(1));
    EXPECT_EQ(LCT_queue_pop(queue), as_pointer(1));
    LCT_queue_free(&queue);
  }
}

TEST(queue, mistakes_are_named) {
  try {
    LCT_queue_alloc(static_cast<LCT_queue_type_t>(12), 8);
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the queue type 12 is unknown"));
  }
  EXPECT_THROW(LCT_queue_push(nullptr, as_pointer(0)), std::runtime_error);
  EXPECT_THROW(LCT_queue_pop(nullptr), std::runtime_error);
  LCT_queue_t none = nullptr;
  testing::internal::CaptureStderr();
  LCT_queue_free(&none);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("to be freed is null"));
}

}  // namespace
}  // namespace lct
