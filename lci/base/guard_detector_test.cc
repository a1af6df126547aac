#include "lci/base/guard_detector.h"

#include "gtest/gtest.h"

namespace lci::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using time_point = guard_detector::time_point;

constexpr nanoseconds took = milliseconds(4);
constexpr time_point start{std::chrono::hours(1)};

// Both threads wait on the device, and the second one yields.
void yield_of_two(guard_detector* detector, bool is_long, bool others_polled, time_point now) {
  static_cast<void>(detector->may_yield(1, now));
  static_cast<void>(detector->may_yield(2, now));
  detector->yielded(took, is_long, others_polled, now);
}

TEST(guard_detector, nobody_yields_on_a_guarded_device_until_a_trial) {
  guard_detector detector;
  EXPECT_TRUE(detector.may_yield(1, start));
  yield_of_two(&detector, true, false, start);
  const time_point trial = start + guard_detector::time_between_trials * took;
  for (const uint32_t thread : {1u, 2u, 3u}) {
    EXPECT_FALSE(detector.may_yield(thread, start));
    EXPECT_FALSE(detector.may_yield(thread, trial - nanoseconds(1)));
  }
  EXPECT_TRUE(detector.may_yield(1, trial));
}

TEST(guard_detector, a_trial_that_shows_the_same_keeps_it_guarded) {
  guard_detector detector;
  yield_of_two(&detector, true, false, start);
  const time_point trial = start + guard_detector::time_between_trials * took;
  yield_of_two(&detector, true, false, trial);
  EXPECT_FALSE(detector.may_yield(1, trial + nanoseconds(1)));
}

TEST(guard_detector, a_trial_that_shows_something_else_ends_it) {
  const time_point trial = start + guard_detector::time_between_trials * took;
  for (const bool is_long : {false, true}) {
    guard_detector detector;
    yield_of_two(&detector, true, false, start);
    yield_of_two(&detector, is_long, /*others_polled=*/is_long, trial);
    EXPECT_TRUE(detector.may_yield(1, trial));
  }
}

TEST(guard_detector, one_thread_alone_guards_nothing) {
  guard_detector detector;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(detector.may_yield(1, start));
    detector.yielded(took, true, false, start);
  }
  EXPECT_TRUE(detector.may_yield(1, start));
}

// Threads that waited long ago do not count.
TEST(guard_detector, a_device_that_is_left_to_one_thread_is_free_again) {
  guard_detector detector;
  yield_of_two(&detector, true, false, start);
  const time_point trial = start + guard_detector::time_between_trials * took;
  EXPECT_TRUE(detector.may_yield(2, trial));
  detector.yielded(took, true, false, trial);
  EXPECT_TRUE(detector.may_yield(2, trial));
}

TEST(guard_detector, short_yields_and_polls_of_others_show_that_there_is_no_guard) {
  for (const bool is_long : {false, true}) {
    guard_detector detector;
    yield_of_two(&detector, is_long, /*others_polled=*/is_long, start);
    EXPECT_TRUE(detector.may_yield(1, start));
  }
}

}  // namespace
}  // namespace lci::base
