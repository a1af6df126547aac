#include "lci/base/poll_backoff.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

using std::chrono::nanoseconds;
using time_point = poll_backoff::time_point;

constexpr char devices[2000] = {};
constexpr nanoseconds alone{300};
constexpr nanoseconds in_crowd = crowd::longest_alone + nanoseconds(100);

// Polls beyond the limit before a yield of a thread with one device: its round.
constexpr uint32_t a_round = 2;

// The polls of one thread, with a simulated clock.
struct thread {
  poll_backoff polls;
  nanoseconds poll_time{10};
  nanoseconds between{0};  // time of other work after each poll
  time_point now{std::chrono::hours(1)};

  // An unsuccessful poll. Returns whether a yield is due.
  bool idle(const void* device = devices) {
    const time_point begin = now;
    now += poll_time;
    bool due = false;
    if (polls.is_timed()) {
      due = polls.idle(device, begin, now);
    } else {
      polls.idle();
    }
    now += between;
    return due;
  }
  void yield(nanoseconds took) {
    now += took;
    polls.yielded(took, now);
  }

  // Unsuccessful polls of `width` devices in turn until a yield is due, the last poll included; 0:
  // no limit was found.
  uint32_t polls_to_yield(uint32_t width = 1) {
    for (uint32_t count = 1; count < 100000; ++count) {
      if (idle(&devices[(count - 1) % width])) return count;
    }
    return 0;
  }
  // Waits of `each` unsuccessful polls until a yield is due; 0: no limit was found.
  uint32_t waits_to_yield(uint32_t each) {
    for (uint32_t wait = 1; wait < 100000; ++wait) {
      for (uint32_t i = 0; i < each; ++i) {
        if (idle()) return wait;
      }
      polls.reset();
    }
    return 0;
  }
};

TEST(poll_backoff, yields_after_so_many_polls_in_vain) {
  thread self;
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(self.polls_to_yield(), poll_backoff::polls_alone + a_round);
    EXPECT_EQ(self.polls.yields(), i);
    self.yield(alone);
    EXPECT_EQ(self.polls.yields(), i + 1);
  }
}

TEST(poll_backoff, a_move_lets_the_count_begin_anew) {
  thread self;
  EXPECT_EQ(self.waits_to_yield(poll_backoff::polls_alone), 0u);
  EXPECT_EQ(self.polls_to_yield(), poll_backoff::polls_alone + 1 + a_round);
}

TEST(poll_backoff, polls_may_be_counted_together) {
  thread self;
  for (const uint32_t before : {0u, 1u, 60u, poll_backoff::polls_alone - 1}) {
    for (uint32_t i = 0; i < before; ++i) EXPECT_FALSE(self.idle());
    const uint32_t left = self.polls.polls_left();
    EXPECT_EQ(left, poll_backoff::polls_alone - before);
    self.polls.idle_for(left - 1);
    EXPECT_FALSE(self.polls.is_timed());
    EXPECT_EQ(self.polls.polls_left(), 1u);
    self.polls.idle_for(1);
    EXPECT_TRUE(self.polls.is_timed());
    EXPECT_EQ(self.polls.polls_left(), 1u);
    while (!self.idle()) {
    }
    self.yield(alone);
  }
  // In a crowd, also the polls since the last yield are limited.
  self.yield(in_crowd);
  uint32_t sum = 0;
  while (!self.polls.is_timed()) {
    const uint32_t each = std::min(self.polls.polls_left(), poll_backoff::polls_alone - 1);
    self.polls.idle_for(each);
    self.polls.found();
    sum += each;
  }
  EXPECT_EQ(sum, poll_backoff::most_polls_between_yields);
}

TEST(poll_backoff, each_poll_changes_the_activity) {
  thread self;
  uint32_t last = self.polls.activity();
  for (int i = 0; i < 10; ++i) {
    self.polls.found();
    EXPECT_EQ(self.polls.activity(), last) << "without a poll";
    i % 2 == 0 ? self.polls.reset() : self.polls.idle();
    EXPECT_NE(self.polls.activity(), last);
    last = self.polls.activity();
  }
}

TEST(poll_backoff, yields_at_random_times_in_a_crowd_and_no_earlier_than_alone) {
  thread self;
  std::set<uint32_t> found;
  for (int i = 0; i < 200; ++i) {
    self.yield(in_crowd);
    const uint32_t count = self.polls_to_yield();
    EXPECT_GE(count, poll_backoff::polls_alone + a_round);
    EXPECT_LE(count, poll_backoff::most_polls_in_crowd + a_round);
    found.insert(count);
  }
  EXPECT_GT(found.size(), 20u);
  self.yield(alone);
  EXPECT_EQ(self.polls_to_yield(), poll_backoff::polls_alone + a_round);
}

TEST(poll_backoff, many_short_waits_end_with_a_yield_in_a_crowd_only) {
  constexpr uint32_t each = poll_backoff::polls_alone - 1;
  thread self;
  EXPECT_EQ(self.waits_to_yield(each), 0u);
  self.yield(in_crowd);
  EXPECT_EQ(self.waits_to_yield(each), poll_backoff::most_polls_between_yields / each + 1);
}

// Polls that make a system call.

// Yields in a crowd until the duration of a poll is known.
void learn_duration(thread* self) {
  for (int i = 0; i < 20; ++i) {
    self->yield(in_crowd);
    self->polls_to_yield();
  }
}

TEST(poll_backoff, long_polls_count_by_their_time_in_a_crowd) {
  thread self;
  self.poll_time = nanoseconds(200);
  learn_duration(&self);
  self.yield(in_crowd);
  const auto most = static_cast<uint32_t>(poll_backoff::time_of_long_polls / self.poll_time);
  EXPECT_LE(self.polls_to_yield(), most + 1 + a_round);
  self.yield(alone);
  EXPECT_EQ(self.polls_to_yield(), poll_backoff::polls_alone + a_round);
}

TEST(poll_backoff, a_yield_in_a_crowd_comes_after_a_few_of_the_longest_polls) {
  thread self;
  self.poll_time = nanoseconds(5000);
  learn_duration(&self);
  self.yield(in_crowd);
  EXPECT_EQ(self.polls_to_yield(), poll_backoff::least_long_polls + a_round);
}

TEST(poll_backoff, every_fourth_poll_may_be_the_only_long_one) {
  thread self;
  const auto polls_to_yield = [&self] {
    for (uint32_t count = 1;; ++count) {
      self.poll_time = nanoseconds(count % 4 == 0 ? 2000 : 10);
      if (self.idle()) return count;
    }
  };
  constexpr int waits = 1000;
  int long_waits = 0;
  for (int i = 0; i < waits; ++i) {
    self.yield(in_crowd);
    const uint32_t count = polls_to_yield();
    EXPECT_GE(count, poll_backoff::least_long_polls + a_round);
    if (count >= poll_backoff::polls_alone / 2) ++long_waits;
  }
  // Few: where none of the polls before a yield that are timed is a long one.
  EXPECT_LT(long_waits, waits / 20);
}

TEST(poll_backoff, a_poll_in_which_the_thread_lost_its_processor_is_no_long_one) {
  thread self;
  learn_duration(&self);
  self.yield(in_crowd);
  self.polls_to_yield();
  self.poll_time = nanoseconds(5'000'000);
  EXPECT_TRUE(self.idle());
  self.poll_time = nanoseconds(10);
  self.yield(in_crowd);
  EXPECT_GE(self.polls_to_yield(), poll_backoff::polls_alone);
}

// One unsuccessful poll for each successful one is not a wait.
TEST(poll_backoff, a_busy_thread_does_not_yield_even_in_a_crowd) {
  thread self;
  self.yield(in_crowd);
  EXPECT_EQ(self.waits_to_yield(1), 0u);
}

// Partners on one processor.

// Yields in a crowd. After each yield come `polls` unsuccessful polls, a move, and a wait for the
// next yield. Returns the numbers of polls of that wait in the last rounds.
std::set<uint32_t> waits_after(thread* self, uint32_t polls, int rounds = 100) {
  std::set<uint32_t> last;
  for (int i = 0; i < rounds; ++i) {
    self->yield(in_crowd);
    for (uint32_t poll = 0; poll < polls; ++poll) EXPECT_FALSE(self->idle());
    self->polls.reset();
    const uint32_t count = self->polls_to_yield();
    if (i >= rounds / 2) last.insert(count);
  }
  return last;
}

TEST(poll_backoff, a_thread_that_finds_something_only_after_yields_yields_early_and_tries_again) {
  thread self;
  const std::set<uint32_t> waits = waits_after(&self, 0);
  EXPECT_LE(*waits.begin(), poll_backoff::polls_for_neighbors + 1 + a_round);
  EXPECT_GE(*waits.rbegin(), poll_backoff::polls_alone);
}

TEST(poll_backoff, a_thread_that_finds_something_while_it_polls_on_does_not_yield_early) {
  thread self;
  EXPECT_GE(*waits_after(&self, poll_backoff::polls_alone / 2).begin(), poll_backoff::polls_alone);
}

TEST(poll_backoff, an_answer_while_it_tries_ends_early_yields) {
  thread self;
  waits_after(&self, 0);
  for (uint32_t i = 0; i <= poll_backoff::yields_between_trials; ++i) {
    self.yield(in_crowd);
    // Each move comes after 50 polls, or after the yield if that is earlier.
    for (uint32_t poll = 0; poll < poll_backoff::polls_alone / 2; ++poll) {
      if (self.idle()) self.yield(in_crowd);
    }
    self.polls.reset();
    self.polls_to_yield();
  }
  EXPECT_GE(*waits_after(&self, poll_backoff::polls_alone / 2).begin(), poll_backoff::polls_alone);
}

// Yields after which nothing is found do not show where the partner is.
TEST(poll_backoff, a_thread_that_finds_nothing_does_not_yield_early) {
  thread self;
  for (int i = 0; i < 100; ++i) {
    self.yield(in_crowd);
    EXPECT_GE(self.polls_to_yield(), poll_backoff::polls_alone);
  }
}

// Threads that work, and threads that do not return the processor.

TEST(poll_backoff, a_thread_that_works_between_polls_does_not_yield) {
  for (const nanoseconds took : {alone, in_crowd}) {
    for (const uint32_t width : {1u, 3u}) {
      thread self;
      self.yield(took);
      self.between = poll_backoff::least_work + nanoseconds(100);
      EXPECT_EQ(self.polls_to_yield(width), 0u);
      // Nor does a thread that only polls, for as many polls as any thread waits alone.
      self.polls.reset();
      self.between = poll_backoff::least_work - nanoseconds(100);
      EXPECT_GE(self.polls_to_yield(width), poll_backoff::polls_alone);
    }
  }
}

// Polls of a slow network are not work.
TEST(poll_backoff, work_takes_longer_than_a_poll) {
  thread self;
  self.poll_time = 3 * poll_backoff::least_work;
  self.between = self.poll_time - nanoseconds(100);
  EXPECT_NE(self.polls_to_yield(), 0u);
  self.yield(alone);
  self.between = self.poll_time + nanoseconds(100);
  EXPECT_EQ(self.polls_to_yield(), 0u);
}

TEST(poll_backoff, polls_longer_after_a_yield_that_took_a_time_slice) {
  thread self;
  for (int i = 0; i < 3; ++i) {
    self.yield(poll_backoff::long_yield + nanoseconds(1));
    const time_point begin = self.now;
    EXPECT_NE(self.polls_to_yield(), 0u);
    EXPECT_GE(self.now - begin, poll_backoff::polling_after_long_yield);
    EXPECT_LT(self.now - begin, poll_backoff::polling_after_long_yield + 500 * self.poll_time);
  }
  self.yield(poll_backoff::long_yield);
  EXPECT_LE(self.polls_to_yield(), poll_backoff::most_polls_in_crowd + a_round);
}

// Several devices.

// For any device, and any number of devices.
TEST(poll_backoff, does_not_yield_while_one_of_many_devices_moves) {
  for (const uint32_t width : {2u, 3u, 40u, 99u, 100u, 101u, 350u}) {
    for (const nanoseconds took : {alone, in_crowd}) {
      for (const uint32_t busy : {0u, 1u, width - 1}) {
        thread self;
        self.yield(took);
        for (uint32_t i = 0; i < 20000; ++i) {
          if (i % width == busy) {
            self.polls.reset();
          } else {
            ASSERT_FALSE(self.idle(&devices[i % width]))
                << width << " devices, number " << busy << " moves, poll " << i;
          }
        }
      }
    }
  }
}

// The polls before a yield include at least one of each device.
TEST(poll_backoff, yields_after_a_whole_round_in_vain) {
  for (const uint32_t width : {2u, 3u, 40u, 350u}) {
    for (const nanoseconds took : {alone, in_crowd}) {
      thread self;
      for (int i = 0; i < 3; ++i) {
        self.yield(took);
        const uint32_t count = self.polls_to_yield(width);
        EXPECT_GE(count, width + 1);
        EXPECT_LE(count, width + poll_backoff::most_polls_in_crowd + a_round);
      }
    }
  }
}

TEST(poll_backoff, a_device_that_does_not_come_again_is_not_waited_for) {
  thread self;
  for (uint32_t i = 0; i <= poll_backoff::polls_alone; ++i) ASSERT_FALSE(self.idle(&devices[1]));
  EXPECT_EQ(self.polls_to_yield(), poll_backoff::most_polls_a_round);
}

// A caller that must not yield now asks again later.
TEST(poll_backoff, stays_due_until_the_yield) {
  thread self;
  ASSERT_NE(self.polls_to_yield(), 0u);
  EXPECT_TRUE(self.idle());
  EXPECT_TRUE(self.idle());
  self.polls.reset();
  EXPECT_EQ(self.polls_to_yield(), poll_backoff::polls_alone + 1 + a_round);
}

TEST(poll_backoff, yields_by_itself) {
  poll_backoff polls;
  while (polls.yields() < 3) EXPECT_FALSE(polls.poll(devices, [] { return false; }));
  EXPECT_FALSE(polls.is_timed());
  EXPECT_TRUE(polls.poll(devices, [] { return true; }));
}

}  // namespace
}  // namespace lci::base
