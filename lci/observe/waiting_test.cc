#include "lci/observe/waiting.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/observe/rank_scope.h"
#include "lci/observe/subject.h"

// Outside namespace lci, as a program that calls the library.
[[gnu::noinline]] void wait_in_program(const lci::observe::wait_info& info,
                                       const std::atomic<bool>& finished,
                                       std::atomic<bool>& begun) {
  const lci::observe::waiting waiting(info);
  begun = true;
  while (!finished) std::this_thread::yield();
}

namespace lci::observe {
namespace {

using std::chrono::milliseconds;

std::vector<rank_report::wait> waits() {
  rank_report report;
  describe_all(&report);
  return report.waits;
}

TEST(Waiting, IsListedWhileItLives) {
  EXPECT_TRUE(waits().empty());
  {
    const waiting outer({"outer", 3});
    const waiting inner({"inner", rank_report::any_rank, 7});
    ASSERT_EQ(waits().size(), 2u);
    EXPECT_EQ(waits()[0].call, "outer");
    EXPECT_EQ(waits()[0].peer, 3);
    EXPECT_EQ(waits()[1].call, "inner");
    EXPECT_EQ(waits()[1].collective, 7u);
  }
  EXPECT_TRUE(waits().empty());
}

// The inner one says more.
TEST(Waiting, NestedOnesOfOneCallAreListedOnce) {
  const waiting outer({"call"});
  const waiting inner({"call", rank_report::any_rank, 7});
  ASSERT_EQ(waits().size(), 1u);
  EXPECT_EQ(waits()[0].collective, 7u);
}

TEST(Waiting, ForASynchronizerSaysWhetherAPostSignalsIt) {
  struct poster final : subject {
    void describe(rank_report* report) override {
      if (posts != nullptr) report->named_objects.insert(posts);
      report->has_unknown_objects = has_others;
    }
    const int* posts = nullptr;
    bool has_others = false;
    const registration listed{this};
  };
  static const int synchronizer = 3;
  wait_info info{"sync_wait"};
  info.object = &synchronizer;
  info.read_object = [](const void* object, rank_report::wait* reported) {
    reported->threshold = static_cast<uint64_t>(*static_cast<const int*>(object));
    reported->signals = 2;
  };
  poster others;
  const waiting waits_for_it(info);
  EXPECT_EQ(waits()[0].threshold, 3u);
  EXPECT_EQ(waits()[0].signals, 2u);
  EXPECT_TRUE(waits()[0].no_post_signals);
  others.has_others = true;
  EXPECT_FALSE(waits()[0].no_post_signals);
  others.has_others = false;
  others.posts = &synchronizer;
  EXPECT_FALSE(waits()[0].no_post_signals);
}

TEST(Waiting, OfAnotherThreadHasItsCaller) {
  std::atomic<bool> finished{false}, begun{false};
  std::thread other([&] { wait_in_program({"barrier"}, finished, begun); });
  while (!begun) std::this_thread::yield();
  const auto listed = waits();
  finished = true;
  other.join();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].call, "barrier");
  EXPECT_THAT(listed[0].place, testing::HasSubstr("(wait_in_program("));
  EXPECT_TRUE(waits().empty());
}

struct late_caller {
  size_t* listed = nullptr;
  ~late_caller() {
    const waiting late({"late"});
    *listed = waits().size();
  }
};

// As in the destructor of a static object that ends the runtime.
TEST(Waiting, IsListedAfterThreadLocalObjectsAreDestroyed) {
  size_t listed = 0;
  std::thread([&] {
    static thread_local late_caller late;
    late.listed = &listed;
    const waiting early({"early"});
  }).join();
  EXPECT_EQ(listed, 1u);
  EXPECT_TRUE(waits().empty());
}

TEST(Waiting, MoreThanAreListedMayBeNested) {
  std::vector<std::unique_ptr<waiting>> nested;
  for (int i = 0; i < 10; ++i) {
    nested.push_back(std::make_unique<waiting>(wait_info{i % 2 == 0 ? "call" : "other"}));
  }
  EXPECT_EQ(waits().size(), 4u);
  while (!nested.empty()) nested.pop_back();
  EXPECT_TRUE(waits().empty());
}

TEST(Waiting, PatientOnesAreListedAfterAWhile) {
  patient_waiting loop({"loop"});
  const auto begun = std::chrono::steady_clock::now();
  do {
    loop.round();
  } while (waits().empty());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::microseconds(100));
}

// A thread that gets the processor for one round in a millisecond waits as long as any other one.
TEST(Waiting, PatientOnesAreListedAfterFewSlowRounds) {
  patient_waiting loop({"loop"});
  for (int i = 0; i < 16; ++i) loop.round();
  EXPECT_TRUE(waits().empty());
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < milliseconds(1)) std::this_thread::yield();
  for (int i = 0; i < 16; ++i) loop.round();
  EXPECT_EQ(waits().size(), 1u);
}

TEST(Waiting, EachIsOverdueOnce) {
  EXPECT_FALSE(overdue_wait(milliseconds(0)).has_value());
  const waiting one({"one"});
  EXPECT_FALSE(overdue_wait(std::chrono::hours(1)).has_value());
  const auto found = overdue_wait(milliseconds(0));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->call, "one");
  EXPECT_FALSE(overdue_wait(milliseconds(0)).has_value());
}

TEST(Waiting, BelongsToTheRankOfItsThread) {
  std::atomic<bool> finished{false}, begun{false};
  std::thread other([&] {
    const rank_scope scope(1);
    wait_in_program({"barrier"}, finished, begun);
  });
  while (!begun) std::this_thread::yield();
  const auto of_the_process = waits();
  const auto overdue_of_the_process = overdue_wait(milliseconds(0));
  std::vector<rank_report::wait> of_the_rank, of_another;
  {
    const rank_scope scope(1);
    of_the_rank = waits();
  }
  {
    const rank_scope scope(2);
    of_another = waits();
  }
  finished = true;
  other.join();
  EXPECT_TRUE(of_the_process.empty());
  EXPECT_FALSE(overdue_of_the_process.has_value());
  EXPECT_EQ(of_the_rank.size(), 1u);
  EXPECT_TRUE(of_another.empty());
}

}  // namespace
}  // namespace lci::observe
