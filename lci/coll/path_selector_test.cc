#include "lci/coll/path_selector.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace lci::coll {
namespace {

constexpr uint64_t ahead = 8;  // operations until a plan has reached all ranks

// A series of operations that take a given time on each path.
class operations_in_turn {
 public:
  // `first` is used from operation `from` on.
  explicit operations_in_turn(copy_path first = copy_path::pipes, uint64_t from = 0,
                              path_set choice = all_paths)
      : selector_(first, choice), plan_{from, copy_path::pipes, first, false} {}

  // Returns how many of them the kernel copied. Pipes past the caches are the slowest path.
  uint64_t run(uint64_t count, int64_t in_pipes, int64_t by_kernel) {
    return run(count, in_pipes, by_kernel, 2 * std::max(in_pipes, by_kernel));
  }
  uint64_t run(uint64_t count, int64_t in_pipes, int64_t by_kernel, int64_t past_caches) {
    const std::array<int64_t, copy_paths> durations = {in_pipes, by_kernel, past_caches};
    uint64_t kernels = 0;
    for (uint64_t i = 0; i < count; ++i) {
      ++number_;
      const copy_path path = plan_.of(number_);
      kernels += path == copy_path::kernel ? 1 : 0;
      if (plan_.is_measured) selector_.add(path, durations[static_cast<size_t>(path)]);
      selector_.count();
      if (const auto next = selector_.next(plan_, number_ + ahead)) change_to(*next);
    }
    return kernels;
  }
  // The path of the next operation.
  copy_path path() const { return plan_.of(number_ + 1); }
  // The operations at which the path changes.
  const std::vector<uint64_t>& changes() const { return changes_; }

 private:
  void change_to(const path_plan& next) {
    // Operations before all ranks know the new plan keep their path.
    for (uint64_t each = number_ + 1; each < number_ + ahead; ++each) {
      ASSERT_EQ(next.of(each), plan_.of(each)) << "operation " << each << " at " << number_;
    }
    ASSERT_EQ(path_plan::unpack(next.pack()).pack(), next.pack());
    if (next.from != plan_.from) changes_.push_back(next.from);
    plan_ = next;
  }

  path_selector selector_;
  path_plan plan_;
  uint64_t number_ = 0;
  std::vector<uint64_t> changes_;
};

// Operations of a trial, and those before the first decision.
constexpr uint64_t most_of_a_trial = 2 * ahead + path_selector::samples;
constexpr uint64_t first_decision =
    path_selector::first_phase + path_selector::samples + (copy_paths - 1) * most_of_a_trial;

TEST(PathSelector, TheFirstOperationsGoThroughPipes) {
  operations_in_turn operations;
  EXPECT_EQ(operations.path(), copy_path::pipes);
  EXPECT_EQ(operations.run(path_selector::samples, 100, 1), 0u);
}

TEST(PathSelector, TheKernelMayComeFirst) {
  constexpr uint64_t from = 5;
  constexpr uint64_t before_trial = path_selector::first_phase + path_selector::samples;
  operations_in_turn operations(copy_path::kernel, from);
  EXPECT_EQ(operations.run(before_trial, 200, 100), before_trial - from + 1);
  operations.run(first_decision, 200, 100);
  constexpr uint64_t many = path_selector::shortest_phase / 2;
  EXPECT_EQ(operations.run(many, 200, 100), many);
  operations_in_turn faster_in_pipes(copy_path::kernel, from);
  faster_in_pipes.run(first_decision, 100, 200);
  EXPECT_EQ(faster_in_pipes.run(many, 100, 200), 0u);
}

TEST(PathSelector, TheKernelStaysWhereItIsFaster) {
  operations_in_turn operations;
  operations.run(first_decision, 200, 100);
  constexpr uint64_t many = path_selector::shortest_phase / 2;
  EXPECT_EQ(operations.run(many, 200, 100), many);
}

TEST(PathSelector, PipesComeBackWhereTheyAreFaster) {
  operations_in_turn operations;
  const uint64_t kernels = operations.run(first_decision, 100, 200);
  EXPECT_GE(kernels, path_selector::samples);
  EXPECT_LE(kernels, most_of_a_trial);
  EXPECT_EQ(operations.run(path_selector::shortest_phase / 2, 100, 200), 0u);
}

TEST(PathSelector, TheFastestOfThreeIsFound) {
  for (const copy_path first : {copy_path::pipes, copy_path::kernel}) {
    for (const copy_path best :
         {copy_path::pipes, copy_path::kernel, copy_path::pipes_past_caches}) {
      for (const copy_path second :
           {copy_path::pipes, copy_path::kernel, copy_path::pipes_past_caches}) {
        std::array<int64_t, copy_paths> durations = {300, 300, 300};
        durations[static_cast<size_t>(second)] = 200;
        durations[static_cast<size_t>(best)] = 100;
        operations_in_turn operations(first);
        operations.run(first_decision, durations[0], durations[1], durations[2]);
        EXPECT_EQ(operations.path(), best);
      }
    }
  }
}

TEST(PathSelector, APathThatIsNoChoiceIsNeverTried) {
  for (const auto& [cached, past_caches] : {std::pair{200, 100}, {100, 200}}) {
    operations_in_turn operations(copy_path::pipes, 0, pipe_paths);
    constexpr uint64_t many = 3 * path_selector::shortest_phase;
    EXPECT_EQ(operations.run(many, cached, 1, past_caches), 0u);
    EXPECT_EQ(operations.path(),
              cached < past_caches ? copy_path::pipes : copy_path::pipes_past_caches);
  }
}

TEST(PathSelector, AWordOfNoPathMeansPipes) {
  const path_plan read = path_plan::unpack(~uint64_t{0});
  EXPECT_EQ(read.before, copy_path::pipes);
  EXPECT_EQ(read.after, copy_path::pipes);
}

TEST(PathSelector, ADifferenceOfAFewPercentChangesNothing) {
  operations_in_turn operations;
  operations.run(first_decision, 100, 96);
  EXPECT_EQ(operations.path(), copy_path::pipes);
}

TEST(PathSelector, APathThatHasBecomeSlowerIsLeft) {
  operations_in_turn operations;
  operations.run(first_decision, 200, 100);
  EXPECT_EQ(operations.path(), copy_path::kernel);
  operations.run(2 * path_selector::shortest_phase, 200, 400);
  EXPECT_EQ(operations.path(), copy_path::pipes);
  operations.run(2 * path_selector::shortest_phase, 200, 100);
  EXPECT_EQ(operations.path(), copy_path::kernel);
}

TEST(PathSelector, TrialsTakeFewOfTheOperationsAndFewerLater) {
  operations_in_turn operations;
  operations.run(first_decision, 100, 200);
  uint64_t kernels = operations.run(2 * path_selector::shortest_phase, 100, 200);
  EXPECT_GE(kernels, path_selector::samples);
  EXPECT_LE(kernels, 2 * path_selector::shortest_phase / 50);
  operations.run(2 * path_selector::longest_phase, 100, 200);
  constexpr uint64_t many = 8 * path_selector::longest_phase;
  kernels = operations.run(many, 100, 200);
  EXPECT_GE(kernels, 7 * path_selector::samples);
  EXPECT_LE(kernels, many / 1000);
}

TEST(PathSelector, LongOperationsAreDecidedEarly) {
  constexpr int64_t ms = 1000000;
  operations_in_turn operations;
  constexpr uint64_t trials = (copy_paths - 1) * (path_selector::fewest_samples + ahead);
  operations.run(path_selector::first_phase + path_selector::fewest_samples + trials + ahead,
                 4 * ms, 2 * ms);
  EXPECT_EQ(operations.path(), copy_path::kernel);
  EXPECT_EQ(operations.run(100, 4 * ms, 2 * ms), 100u);
}

TEST(PathSelector, FirstOperationsOfATrialThatTakeLongDoNotCount) {
  path_selector selector;
  path_plan plan;
  const auto follow = [&](int64_t duration) {
    selector.add(plan.after, duration);
    selector.count();
    if (const auto next = selector.next(plan, 0)) plan = *next;
  };
  while (plan.after == copy_path::pipes) follow(200);
  for (size_t i = 0; i < path_selector::samples; ++i) {
    follow(i < path_selector::samples / 2 ? 5000 : 100);
  }
  while (plan.after == copy_path::pipes_past_caches) follow(200);
  EXPECT_EQ(plan.after, copy_path::kernel);
  EXPECT_FALSE(plan.is_measured);
}

}  // namespace
}  // namespace lci::coll
