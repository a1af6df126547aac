// Tests of the explorer: what it must find, what it must not find, and that it can repeat what it
// found.
#include "lci/testing/explorer/explore.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/ds/spinlock.h"
#include "lci/testing/explorer/scheduled_atomics.h"

namespace lci::ds::explorer {
namespace {

using testing::HasSubstr;

// A scenario that consists of functions.
class program : public scenario {
 public:
  std::vector<std::function<void()>> bodies;
  std::function<std::string()> end = [] { return std::string(); };

  size_t threads() const override { return bodies.size(); }
  void run(size_t number) override { bodies[number](); }
  std::string finish() override { return end(); }
};

using maker = std::function<std::unique_ptr<scenario>()>;

exploration explore_all(const maker& make, size_t preemptions = 3, size_t old_reads = 3) {
  all_choices all(preemptions, old_reads);
  return explore(make, all, 200000);
}

// Collects every outcome that the explorer can find, in a scenario that never fails.
struct message_passing : program {
  scheduled_atomic<int> data{0};
  scheduled_atomic<int> flag{0};
  int seen_flag = 0;
  int seen_data = 0;

  message_passing(std::memory_order publish, std::memory_order observe,
                  std::set<std::pair<int, int>>* outcomes) {
    bodies.push_back([this, publish] {
      data.store(1, std::memory_order_relaxed);
      flag.store(1, publish);
    });
    bodies.push_back([this, observe] {
      seen_flag = flag.load(observe);
      seen_data = data.load(std::memory_order_relaxed);
    });
    end = [this, outcomes] {
      outcomes->insert({seen_flag, seen_data});
      return std::string();
    };
  }
};

std::set<std::pair<int, int>> message_passing_outcomes(std::memory_order publish,
                                                       std::memory_order observe) {
  std::set<std::pair<int, int>> outcomes;
  const exploration e =
      explore_all([&] { return std::make_unique<message_passing>(publish, observe, &outcomes); });
  EXPECT_TRUE(e.complete);
  EXPECT_EQ(e.failure, "");
  return outcomes;
}

TEST(Explorer, KnowsReleaseAndAcquire) {
  const std::set<std::pair<int, int>> ordered = {{0, 0}, {0, 1}, {1, 1}};
  std::set<std::pair<int, int>> all = ordered;
  all.insert({1, 0});
  constexpr auto relaxed = std::memory_order_relaxed;
  constexpr auto acquire = std::memory_order_acquire;
  constexpr auto release = std::memory_order_release;
  EXPECT_EQ(message_passing_outcomes(release, acquire), ordered);
  EXPECT_EQ(message_passing_outcomes(relaxed, acquire), all);
  EXPECT_EQ(message_passing_outcomes(release, relaxed), all);
}

// Each thread writes one variable and reads the other, with the given call in between. Both may
// read 0, unless all operations are sequentially consistent.
void nothing() {}
std::set<std::pair<int, int>> store_buffering_outcomes(std::memory_order write,
                                                       std::memory_order read,
                                                       void (*between)() = nothing,
                                                       void (*between_other)() = nothing) {
  struct store_buffering : program {
    scheduled_atomic<int> x{0};
    scheduled_atomic<int> y{0};
    int seen_x = 0;
    int seen_y = 0;
  };
  std::set<std::pair<int, int>> outcomes;
  const exploration e = explore_all([&] {
    auto p = std::make_unique<store_buffering>();
    store_buffering* self = p.get();
    p->bodies = {[=] {
                   self->x.store(1, write);
                   between();
                   self->seen_y = self->y.load(read);
                 },
                 [=] {
                   self->y.store(1, write);
                   between_other();
                   self->seen_x = self->x.load(read);
                 }};
    p->end = [self, &outcomes] {
      outcomes.insert({self->seen_x, self->seen_y});
      return std::string();
    };
    return p;
  });
  EXPECT_TRUE(e.complete);
  return outcomes;
}

TEST(Explorer, KnowsThatStoresMayBeLate) {
  EXPECT_EQ(store_buffering_outcomes(std::memory_order_release, std::memory_order_acquire),
            (std::set<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(store_buffering_outcomes(std::memory_order_seq_cst, std::memory_order_seq_cst),
            (std::set<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 1}}));
}

TEST(Explorer, KnowsProcessBarriers) {
  const auto outcomes = [](void (*between)(), void (*between_other)()) {
    return store_buffering_outcomes(std::memory_order_relaxed, std::memory_order_relaxed, between,
                                    between_other);
  };
  const std::set<std::pair<int, int>> ordered = {{0, 1}, {1, 0}, {1, 1}};
  std::set<std::pair<int, int>> all = ordered;
  all.insert({0, 0});
  const auto process = [] { scheduled_atomics::process_barrier(); };
  constexpr auto light = scheduled_atomics::light_barrier;
  EXPECT_EQ(outcomes(process, light), ordered);
  EXPECT_EQ(outcomes(light, process), ordered);
  EXPECT_EQ(outcomes(process, process), ordered);
  EXPECT_EQ(outcomes(light, light), all);
  // The compiler may reorder operations that no light barrier separates.
  EXPECT_EQ(outcomes(process, nothing), all);
  EXPECT_EQ(outcomes(nothing, process), all);
}

// Each thread is interrupted at its own moment: the first thread before its light barrier, the
// second after its own, although the second thread has seen what the first did later.
TEST(Explorer, AProcessBarrierIsNotOneMoment) {
  struct three : program {
    scheduled_atomic<int> x{0};
    scheduled_atomic<int> first{0};
    scheduled_atomic<int> second{0};
    scheduled_atomic<int> flag{0};
    bool second_saw_flag = false;
    int second_saw_x = 0;
    int caller_saw_first = 0;
    int caller_saw_second = 0;
  };
  constexpr auto relaxed = std::memory_order_relaxed;
  bool seen = false;
  bool wrong = false;
  const exploration e = explore_all(
      [&] {
        auto p = std::make_unique<three>();
        three* self = p.get();
        p->bodies = {[=] {
                       self->first.store(1, relaxed);
                       scheduled_atomics::light_barrier();
                       self->flag.store(1, relaxed);
                     },
                     [=] {
                       self->second_saw_flag = self->flag.load(relaxed) != 0;
                       self->second.store(1, relaxed);
                       scheduled_atomics::light_barrier();
                       self->second_saw_x = self->x.load(relaxed);
                     },
                     [=] {
                       self->x.store(1, relaxed);
                       scheduled_atomics::process_barrier();
                       self->caller_saw_first = self->first.load(relaxed);
                       self->caller_saw_second = self->second.load(relaxed);
                     }};
        p->end = [&, self] {
          if (self->second_saw_x == 0) {
            if (self->caller_saw_second == 0) wrong = true;
            if (self->second_saw_flag && self->caller_saw_first == 0) seen = true;
          }
          return std::string();
        };
        return p;
      },
      2, 2);
  EXPECT_TRUE(e.complete);
  EXPECT_FALSE(wrong);
  EXPECT_TRUE(seen);
}

TEST(Explorer, ProcessBarriersHandOverNoOrdinaryMemory) {
  struct handover : program {
    int plain = 0;
    scheduled_atomic<int> flag{0};
  };
  const exploration e = explore_all([] {
    auto p = std::make_unique<handover>();
    handover* self = p.get();
    p->bodies = {[self] {
                   scheduled_atomics::plain_write(&self->plain, sizeof self->plain);
                   scheduled_atomics::light_barrier();
                   self->flag.store(1, std::memory_order_relaxed);
                 },
                 [self] {
                   if (self->flag.load(std::memory_order_relaxed) == 0) return;
                   scheduled_atomics::process_barrier();
                   scheduled_atomics::plain_read(&self->plain, sizeof self->plain);
                 }};
    return p;
  });
  EXPECT_THAT(e.failure, HasSubstr("data race: thread 2 reads what thread 1 wrote"));
}

TEST(Explorer, AThreadNeverReadsBackwards) {
  struct coherence : program {
    scheduled_atomic<int> x{0};
  };
  const exploration e = explore_all([] {
    auto p = std::make_unique<coherence>();
    coherence* self = p.get();
    const auto read = [self] {
      int last = 0;
      for (int i = 0; i < 3; ++i) {
        const int now = self->x.load(std::memory_order_relaxed);
        if (now < last) throw std::logic_error("backwards");
        last = now;
      }
    };
    p->bodies = {[self] {
                   self->x.store(1, std::memory_order_relaxed);
                   self->x.store(2, std::memory_order_relaxed);
                 },
                 read};
    return p;
  });
  EXPECT_TRUE(e.complete);
  EXPECT_EQ(e.failure, "");
}

struct lost_update : program {
  scheduled_atomic<int> x{0};
  lost_update() {
    const auto add = [this] {
      const int seen = x.load(std::memory_order_acquire);
      x.store(seen + 1, std::memory_order_release);
    };
    bodies = {add, add};
    end = [this] { return x.load() == 2 ? std::string() : "one was lost"; };
  }
};

TEST(Explorer, FindsALostUpdateAndRepeatsIt) {
  const maker make = [] { return std::make_unique<lost_update>(); };
  const exploration found = explore_all(make);
  ASSERT_EQ(found.failure, "one was lost");
  ASSERT_NE(found.schedule, "");
  for (int i = 0; i < 3; ++i) {
    replay_choices again(found.schedule);
    const exploration replayed = explore(make, again, 1);
    EXPECT_EQ(replayed.failure, found.failure);
    EXPECT_EQ(replayed.schedule, found.schedule);
  }
  // Random schedules find it, too; the seed is all that is needed to repeat them.
  random_choices random(1);
  const exploration by_chance = explore(make, random, 1000);
  ASSERT_EQ(by_chance.failure, "one was lost");
  random_choices same(1);
  EXPECT_EQ(explore(make, same, 1000).schedule, by_chance.schedule);
  replay_choices again(by_chance.schedule);
  EXPECT_EQ(explore(make, again, 1).failure, "one was lost");
}

TEST(Explorer, ALostUpdateNeedsOnePreemption) {
  const maker make = [] { return std::make_unique<lost_update>(); };
  const exploration none = explore_all(make, 0, 0);
  EXPECT_TRUE(none.complete);
  EXPECT_EQ(none.failure, "");
  EXPECT_EQ(explore_all(make, 1, 0).failure, "one was lost");
}

TEST(Explorer, FindsThreadsThatWaitForOneAnother) {
  struct two_locks : program {
    basic_spinlock<scheduled_atomics> locks[2];
  };
  const exploration e = explore_all([] {
    auto p = std::make_unique<two_locks>();
    two_locks* self = p.get();
    const auto take = [self](size_t first) {
      const std::lock_guard<basic_spinlock<scheduled_atomics>> a(self->locks[first]);
      const std::lock_guard<basic_spinlock<scheduled_atomics>> b(self->locks[1 - first]);
    };
    p->bodies = {[take] { take(0); }, [take] { take(1); }};
    return p;
  });
  EXPECT_THAT(e.failure, HasSubstr("all wait for one another"));
}

TEST(Explorer, FindsALoopWithoutEnd) {
  struct busy : program {
    scheduled_atomic<int> x{0};
  };
  all_choices all(1, 1);
  const exploration e = explore(
      [] {
        auto p = std::make_unique<busy>();
        busy* self = p.get();
        p->bodies = {[self] {
          while (self->x.load() == 0) self->x.store(0);
        }};
        return p;
      },
      all, 10, 500);
  EXPECT_EQ(e.failure, "not finished after 500 steps");
}

TEST(Explorer, FindsADataRace) {
  struct race : program {
    int plain = 0;
    scheduled_atomic<int> flag{0};
  };
  const auto with_order = [](std::memory_order publish) {
    return explore_all([publish] {
      auto p = std::make_unique<race>();
      race* self = p.get();
      p->bodies = {[self, publish] {
                     scheduled_atomics::plain_write(&self->plain, sizeof self->plain);
                     self->flag.store(1, publish);
                   },
                   [self] {
                     if (self->flag.load(std::memory_order_acquire) == 0) return;
                     scheduled_atomics::plain_read(&self->plain, sizeof self->plain);
                   }};
      return p;
    });
  };
  EXPECT_EQ(with_order(std::memory_order_release).failure, "");
  EXPECT_THAT(with_order(std::memory_order_relaxed).failure,
              HasSubstr("data race: thread 2 reads what thread 1 wrote"));
}

TEST(Explorer, FindsAnAtomicThatIsUsedBeforeItIsMade) {
  struct handover : program {
    scheduled_atomic<scheduled_atomic<int>*> pointer{nullptr};
    std::unique_ptr<scheduled_atomic<int>> made;
  };
  const auto with_order = [](std::memory_order publish) {
    return explore_all([publish] {
      auto p = std::make_unique<handover>();
      handover* self = p.get();
      p->bodies = {[self, publish] {
                     self->made = std::make_unique<scheduled_atomic<int>>(1);
                     self->pointer.store(self->made.get(), publish);
                   },
                   [self] {
                     scheduled_atomic<int>* seen = self->pointer.load(std::memory_order_acquire);
                     if (seen != nullptr) seen->load(std::memory_order_relaxed);
                   }};
      return p;
    });
  };
  EXPECT_EQ(with_order(std::memory_order_release).failure, "");
  EXPECT_THAT(with_order(std::memory_order_relaxed).failure,
              HasSubstr("data race: thread 2 uses an atomic"));
}

TEST(Explorer, SaysWhatAThreadThrew) {
  const exploration e = explore_all([] {
    auto p = std::make_unique<program>();
    p->bodies = {[] { throw std::runtime_error("no reason"); }, [] {}};
    return p;
  });
  EXPECT_THAT(e.failure, HasSubstr("threw: no reason"));
}

TEST(Explorer, RefusesWhatIsNoSchedule) {
  EXPECT_THROW(replay_choices("1:2 three"), std::invalid_argument);
  EXPECT_THROW(replay_choices("1"), std::invalid_argument);
  EXPECT_NO_THROW(replay_choices(""));
}

}  // namespace
}  // namespace lci::ds::explorer
