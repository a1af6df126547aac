#include "lci/base/thread_number.h"

#include <pthread.h>

#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

// The numbers of `n` threads that are alive at the same time.
std::vector<uint32_t> numbers_of_threads(int n) {
  std::vector<uint32_t> numbers(static_cast<size_t>(n));
  pthread_barrier_t all_have_asked;
  pthread_barrier_init(&all_have_asked, nullptr, static_cast<unsigned>(n));
  std::vector<std::thread> threads;
  for (uint32_t& number : numbers) {
    threads.emplace_back([&number, &all_have_asked] {
      number = thread_number();
      pthread_barrier_wait(&all_have_asked);
      EXPECT_EQ(thread_number(), number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&all_have_asked);
  return numbers;
}

TEST(thread_number, is_stable_and_distinct_among_the_living) {
  const uint32_t mine = thread_number();
  const std::vector<uint32_t> numbers = numbers_of_threads(16);
  std::set<uint32_t> distinct(numbers.begin(), numbers.end());
  EXPECT_EQ(distinct.size(), 16u);
  EXPECT_EQ(distinct.count(mine), 0u);
  EXPECT_EQ(thread_number(), mine);
}

TEST(thread_number, is_dense_because_numbers_of_ended_threads_are_reused) {
  thread_number();
  for (int round = 0; round < 50; ++round) {
    for (const uint32_t number : numbers_of_threads(4)) EXPECT_LT(number, 5u);
  }
}

// Asks for the number while thread-local objects and keys are being destroyed.
struct late_caller {
  std::vector<uint32_t>* seen;
  ~late_caller() { seen->push_back(thread_number()); }
};

TEST(thread_number, works_while_the_thread_ends) {
  const uint32_t mine = thread_number();
  std::vector<uint32_t> seen;
  pthread_key_t late_key;
  ASSERT_EQ(pthread_key_create(&late_key,
                               [](void* p) {
                                 static_cast<std::vector<uint32_t>*>(p)->push_back(thread_number());
                               }),
            0);
  std::thread([&seen, late_key] {
    thread_local late_caller late{&seen};
    pthread_setspecific(late_key, late.seen);
    seen.push_back(thread_number());
  }).join();
  pthread_key_delete(late_key);
  ASSERT_EQ(seen.size(), 3u);
  for (const uint32_t number : seen) EXPECT_NE(number, mine);
  // No number leaked: the next threads still get the lowest numbers.
  for (const uint32_t number : numbers_of_threads(3)) EXPECT_LT(number, 4u);
}

}  // namespace
}  // namespace lci::base
