#include "lci/base/poll_backoff.h"

#include <set>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

constexpr char devices[2000] = {};

// Polls of `device` in vain, until a yield is due; that one included.
uint32_t polls_to_yield(poll_backoff* polls, const void* device = &devices[0]) {
  for (uint32_t count = 1; count < 100000; ++count) {
    if (polls->idle(device)) return count;
  }
  return 0;
}

// Rounds over `width` devices in vain, until a yield is due; the polls of them.
uint32_t polls_to_yield(poll_backoff* polls, uint32_t width) {
  for (uint32_t count = 1; count < 100000; ++count) {
    if (polls->idle(&devices[(count - 1) % width])) return count;
  }
  return 0;
}

TEST(poll_backoff, yields_after_so_many_polls_in_vain) {
  poll_backoff polls;
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(polls_to_yield(&polls), poll_backoff::polls_alone + 1);
    EXPECT_EQ(polls.yields(), i);
    polls.yielded(/*in_crowd=*/false);
    EXPECT_EQ(polls.yields(), i + 1);
  }
}

TEST(poll_backoff, a_move_lets_the_count_begin_anew) {
  poll_backoff polls;
  for (int wait = 0; wait < 1000; ++wait) {
    for (uint32_t i = 0; i < poll_backoff::polls_alone; ++i) ASSERT_FALSE(polls.idle(devices));
    polls.reset();
  }
  EXPECT_EQ(polls_to_yield(&polls), poll_backoff::polls_alone + 1);
}

TEST(poll_backoff, yields_earlier_in_a_crowd_and_not_always_at_the_same_time) {
  poll_backoff polls;
  std::set<uint32_t> found;
  for (int i = 0; i < 200; ++i) {
    polls.yielded(/*in_crowd=*/true);
    const uint32_t count = polls_to_yield(&polls);
    EXPECT_GE(count, poll_backoff::least_polls_in_crowd + 1);
    EXPECT_LE(count, poll_backoff::most_polls_in_crowd + 1);
    found.insert(count);
  }
  EXPECT_GT(found.size(), 5u);
  polls.yielded(/*in_crowd=*/false);
  EXPECT_EQ(polls_to_yield(&polls), poll_backoff::polls_alone + 1);
}

// How many waits of `each` polls there are until a yield is due; 0: ever so many.
int waits_to_yield(poll_backoff* polls, uint32_t each) {
  for (int wait = 1; wait < 100000; ++wait) {
    for (uint32_t i = 0; i < each; ++i) {
      if (polls->idle(devices)) return wait;
    }
    polls->reset();
  }
  return 0;
}

TEST(poll_backoff, many_short_waits_end_with_a_yield_in_a_crowd_only) {
  constexpr uint32_t each = poll_backoff::least_polls_in_crowd - 1;
  poll_backoff polls;
  EXPECT_EQ(waits_to_yield(&polls, each), 0);
  polls.yielded(/*in_crowd=*/true);
  const int waits = waits_to_yield(&polls, each);
  EXPECT_EQ(waits, static_cast<int>(poll_backoff::most_polls_between_yields / each) + 1);
}

// One poll in vain for each that finds something is no wait.
TEST(poll_backoff, a_busy_thread_does_not_yield_even_in_a_crowd) {
  poll_backoff polls;
  polls.yielded(/*in_crowd=*/true);
  EXPECT_EQ(waits_to_yield(&polls, 1), 0);
}

// Whatever device it is, and however many there are.
TEST(poll_backoff, does_not_yield_while_one_of_many_devices_moves) {
  for (const uint32_t width : {2u, 3u, 40u, 99u, 100u, 101u, 350u}) {
    for (const bool in_crowd : {false, true}) {
      for (const uint32_t busy : {0u, 1u, width - 1}) {
        poll_backoff polls;
        polls.yielded(in_crowd);
        for (uint32_t i = 0; i < 20000; ++i) {
          if (i % width == busy) {
            polls.reset();
          } else {
            ASSERT_FALSE(polls.idle(&devices[i % width]))
                << width << " devices, number " << busy << " moves, poll " << i;
          }
        }
      }
    }
  }
}

// The polls before a yield are one of each device at least.
TEST(poll_backoff, yields_after_a_whole_round_in_vain) {
  for (const uint32_t width : {2u, 3u, 40u, 350u}) {
    for (const bool in_crowd : {false, true}) {
      poll_backoff polls;
      for (int i = 0; i < 3; ++i) {
        polls.yielded(in_crowd);
        const uint32_t count = polls_to_yield(&polls, width);
        EXPECT_GE(count, width + 1) << in_crowd;
        EXPECT_LE(count, width + poll_backoff::polls_alone) << in_crowd;
      }
    }
  }
}

TEST(poll_backoff, a_device_that_does_not_come_again_is_not_waited_for) {
  poll_backoff polls;
  for (uint32_t i = 0; i < poll_backoff::polls_alone; ++i) ASSERT_FALSE(polls.idle(devices));
  const uint32_t count = polls_to_yield(&polls, &devices[1]);
  EXPECT_EQ(count, poll_backoff::most_polls_a_round);
}

// A caller that must not yield now asks again.
TEST(poll_backoff, stays_due_until_the_yield) {
  poll_backoff polls;
  ASSERT_NE(polls_to_yield(&polls), 0u);
  EXPECT_TRUE(polls.idle(devices));
  EXPECT_TRUE(polls.idle(devices));
  polls.reset();
  EXPECT_EQ(polls_to_yield(&polls), poll_backoff::polls_alone + 1);
}

TEST(poll_backoff, yields_by_itself) {
  poll_backoff polls;
  while (polls.yields() < 3) polls.idle_or_yield(devices);
  EXPECT_FALSE(polls.idle(devices));
}

}  // namespace
}  // namespace lci::base
