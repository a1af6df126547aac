#include "lci/coll/way_chooser.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lci::coll {
namespace {

constexpr uint64_t ahead = 8;  // operations until a plan has reached all ranks

// Operations, one after the other, that take so long by either way.
class operations_in_turn {
 public:
  // Returns how many of them went by the kernel.
  uint64_t run(uint64_t count, int64_t in_pipes, int64_t by_kernel) {
    uint64_t kernels = 0;
    for (uint64_t i = 0; i < count; ++i) {
      ++number_;
      const way goes = plan_.of(number_);
      kernels += goes == way::kernel ? 1 : 0;
      if (plan_.is_measured) chooser_.add(goes, goes == way::pipes ? in_pipes : by_kernel);
      chooser_.count();
      if (const auto next = chooser_.next(plan_, number_ + ahead)) change_to(*next);
    }
    return kernels;
  }
  // The way of the next one.
  way goes() const { return plan_.of(number_ + 1); }
  // Numbers of operations from which on the way is another.
  const std::vector<uint64_t>& changes() const { return changes_; }

 private:
  void change_to(const way_plan& next) {
    // The operations until all ranks know it go as before.
    for (uint64_t each = number_ + 1; each < number_ + ahead; ++each) {
      ASSERT_EQ(next.of(each), plan_.of(each)) << "operation " << each << " at " << number_;
    }
    ASSERT_EQ(way_plan::unpack(next.pack()).pack(), next.pack());
    if (next.from != plan_.from) changes_.push_back(next.from);
    plan_ = next;
  }

  way_chooser chooser_;
  way_plan plan_ = way_plan::unpack(0);
  uint64_t number_ = 0;
  std::vector<uint64_t> changes_;
};

// Operations of a trial, and those before the first decision.
constexpr uint64_t most_of_a_trial = 2 * ahead + way_chooser::samples;
constexpr uint64_t first_decision =
    way_chooser::first_phase + way_chooser::samples + most_of_a_trial;

TEST(WayChooser, TheFirstOperationsGoThroughPipes) {
  operations_in_turn operations;
  EXPECT_EQ(operations.goes(), way::pipes);
  EXPECT_EQ(operations.run(way_chooser::samples, 100, 1), 0u);
}

TEST(WayChooser, TheKernelStaysWhereItIsFaster) {
  operations_in_turn operations;
  operations.run(first_decision, 200, 100);
  constexpr uint64_t many = way_chooser::shortest_phase / 2;
  EXPECT_EQ(operations.run(many, 200, 100), many);
}

TEST(WayChooser, PipesComeBackWhereTheyAreFaster) {
  operations_in_turn operations;
  const uint64_t kernels = operations.run(first_decision, 100, 200);
  EXPECT_GE(kernels, way_chooser::samples);
  EXPECT_LE(kernels, most_of_a_trial);
  EXPECT_EQ(operations.run(way_chooser::shortest_phase / 2, 100, 200), 0u);
}

TEST(WayChooser, ADifferenceOfAFewPercentChangesNothing) {
  operations_in_turn operations;
  operations.run(first_decision, 100, 96);
  EXPECT_EQ(operations.goes(), way::pipes);
}

TEST(WayChooser, AWayThatHasBecomeSlowerIsLeft) {
  operations_in_turn operations;
  operations.run(first_decision, 200, 100);
  EXPECT_EQ(operations.goes(), way::kernel);
  operations.run(2 * way_chooser::shortest_phase, 200, 400);
  EXPECT_EQ(operations.goes(), way::pipes);
  operations.run(2 * way_chooser::shortest_phase, 200, 100);
  EXPECT_EQ(operations.goes(), way::kernel);
}

TEST(WayChooser, TrialsTakeATwentiethOfTheOperationsAndFewerInTime) {
  operations_in_turn operations;
  operations.run(first_decision, 100, 200);
  uint64_t kernels = operations.run(2 * way_chooser::shortest_phase, 100, 200);
  EXPECT_GE(kernels, way_chooser::samples);
  EXPECT_LE(kernels, 2 * way_chooser::shortest_phase / 20);
  operations.run(2 * way_chooser::longest_phase, 100, 200);
  constexpr uint64_t many = 8 * way_chooser::longest_phase;
  kernels = operations.run(many, 100, 200);
  EXPECT_GE(kernels, 7 * way_chooser::samples);
  EXPECT_LE(kernels, many / 500);
}

TEST(WayChooser, LongOperationsAreDecidedEarly) {
  constexpr int64_t ms = 1000000;
  operations_in_turn operations;
  operations.run(way_chooser::first_phase + way_chooser::fewest_samples + ahead, 4 * ms, 2 * ms);
  EXPECT_EQ(operations.goes(), way::kernel);
  EXPECT_EQ(operations.run(100, 4 * ms, 2 * ms), 100u);
}

TEST(WayChooser, FirstOperationsOfATrialThatTakeLongDoNotCount) {
  way_chooser chooser;
  way_plan plan;
  const auto follow = [&](int64_t duration) {
    chooser.add(plan.after, duration);
    chooser.count();
    if (const auto next = chooser.next(plan, 0)) plan = *next;
  };
  while (plan.after == way::pipes) follow(200);
  for (size_t i = 0; i < way_chooser::samples; ++i) {
    follow(i < way_chooser::samples / 2 ? 5000 : 100);
  }
  EXPECT_EQ(plan.after, way::kernel);
  EXPECT_FALSE(plan.is_measured);
}

}  // namespace
}  // namespace lci::coll
