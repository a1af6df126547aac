#include <atomic>
#include <cinttypes>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"
#include "lct/testing/test_file.h"

namespace lct {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The lines of a dump without their times, and without the summary.
std::vector<std::string> without_times(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    if (line.compare(0, 9, "pcounter,") != 0) continue;
    size_t begin = 0;
    for (int commas = 0; commas < 4; ++commas) begin = line.find(',', begin) + 1;
    const size_t end = line.find(',', begin);
    result.push_back(line.substr(0, begin) + "T" + line.substr(end));
  }
  return result;
}

std::vector<std::string> dumped(LCT_pcounter_ctx_t context) {
  const test_file file("dump");
  FILE* const out = std::fopen(file.path().c_str(), "w");
  LCT_pcounter_dump(context, out);
  std::fclose(out);
  EXPECT_THAT(file.text(), StartsWith("pcounter-summary: rank -1, name test, total records "));
  return without_times(file.lines());
}

class pcounter : public testing::Test {
 protected:
  void TearDown() override {
    if (context_ != nullptr) LCT_pcounter_ctx_free(&context_);
  }

  LCT_pcounter_handle_t make(const char* name, LCT_pcounter_type_t type) {
    return LCT_pcounter_register(context_, name, type);
  }

  LCT_pcounter_ctx_t context_ = LCT_pcounter_ctx_alloc("test");
};

TEST_F(pcounter, a_counter_has_sum_number_average_min_and_max) {
  const LCT_pcounter_handle_t sends = make("sends", LCT_PCOUNTER_COUNTER);
  make("unused", LCT_PCOUNTER_COUNTER);
  for (const int64_t value : {5, -2, 9}) LCT_pcounter_add(context_, sends, value);
  EXPECT_THAT(dumped(context_), testing::ElementsAre("pcounter,counter,-1,test,T,sends,12,3,4,-2,9",
                                                     "pcounter,counter,-1,test,T,unused,,0,,,"));
  EXPECT_THAT(dumped(context_), testing::Contains(HasSubstr("sends,12,3"))) << "values stay";
}

TEST_F(pcounter, a_trend_has_a_line_for_each_record_since_the_last_dump) {
  const LCT_pcounter_handle_t bytes = make("bytes", LCT_PCOUNTER_TREND);
  EXPECT_THAT(dumped(context_), testing::IsEmpty());
  LCT_pcounter_add(context_, bytes, 8);
  LCT_pcounter_record(context_);
  LCT_pcounter_add(context_, bytes, 4);
  LCT_pcounter_record(context_);
  EXPECT_THAT(dumped(context_), testing::ElementsAre("pcounter,trend,-1,test,T,bytes,8,1,8,8,8",
                                                     "pcounter,trend,-1,test,T,bytes,12,2,6,4,8"));
  LCT_pcounter_record(context_);
  EXPECT_THAT(dumped(context_), testing::SizeIs(1));
}

TEST_F(pcounter, a_timer_adds_durations_and_nests) {
  const LCT_pcounter_handle_t timer = make("work", LCT_PCOUNTER_TIMER);
  LCT_pcounter_startt(context_, timer, 100);
  LCT_pcounter_startt(context_, timer, 130);
  LCT_pcounter_endt(context_, timer, 140);
  LCT_pcounter_endt(context_, timer, 200);
  LCT_pcounter_add(context_, timer, 40);
  EXPECT_THAT(dumped(context_),
              testing::ElementsAre("pcounter,timer,-1,test,T,work,150,3,50,10,100"));
}

TEST_F(pcounter, a_timer_takes_the_time_by_itself) {
  const LCT_pcounter_handle_t timer = make("work", LCT_PCOUNTER_TIMER);
  const LCT_time_t begin = LCT_now();
  LCT_pcounter_start(context_, timer);
  const LCT_time_t inner_begin = LCT_now();
  const LCT_time_t inner_end = LCT_now();
  LCT_pcounter_end(context_, timer);
  const LCT_time_t end = LCT_now();
  int64_t sum = -1;
  int number = 0;
  const std::string line = dumped(context_).at(0);
  ASSERT_EQ(
      std::sscanf(line.c_str(), "pcounter,timer,-1,test,T,work,%" SCNd64 ",%d", &sum, &number), 2);
  EXPECT_EQ(number, 1);
  EXPECT_GE(sum, inner_end - inner_begin);
  EXPECT_LE(sum, end - begin);
}

TEST_F(pcounter, none_collects_nothing) {
  const LCT_pcounter_handle_t none = make("none", LCT_PCOUNTER_NONE);
  LCT_pcounter_add(context_, none, 1);
  LCT_pcounter_start(context_, none);
  LCT_pcounter_end(context_, none);
  LCT_pcounter_record(context_);
  EXPECT_THAT(dumped(context_), testing::IsEmpty());
}

TEST_F(pcounter, counters_are_added_up_over_threads_that_record_and_dump_meanwhile) {
  constexpr int threads = 4;
  constexpr int values = 1000;
  const LCT_pcounter_handle_t first = make("first", LCT_PCOUNTER_COUNTER);
  const LCT_pcounter_handle_t trend = make("trend", LCT_PCOUNTER_TREND);
  // All threads live at the same time; otherwise a thread could take over the place of one that has
  // ended.
  LCT_tbarrier_t start = LCT_tbarrier_alloc(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      LCT_pcounter_add(context_, trend, 0);
      LCT_tbarrier_arrive_and_wait(start);
      const std::string own_name = "own" + std::to_string(t);
      const LCT_pcounter_handle_t own = make(own_name.c_str(), LCT_PCOUNTER_COUNTER);
      const LCT_pcounter_handle_t timer = make(own_name.c_str(), LCT_PCOUNTER_TIMER);
      for (int i = 0; i < values; ++i) {
        LCT_pcounter_add(context_, first, i);
        LCT_pcounter_add(context_, own, t);
        LCT_pcounter_add(context_, trend, 1);
        LCT_pcounter_start(context_, timer);
        LCT_pcounter_end(context_, timer);
        if (i % 100 == t) LCT_pcounter_record(context_);
      }
    });
  }
  FILE* const nowhere = std::fopen("/dev/null", "w");
  for (int i = 0; i < 10; ++i) LCT_pcounter_dump(context_, nowhere);
  for (std::thread& worker : workers) worker.join();
  LCT_tbarrier_free(&start);
  LCT_pcounter_dump(context_, nowhere);
  std::fclose(nowhere);
  LCT_pcounter_record(context_);
  const std::vector<std::string> lines = dumped(context_);
  ASSERT_THAT(lines, testing::SizeIs(1 + 1 + 2 * threads));
  EXPECT_THAT(lines[0], testing::EndsWith(",trend,4000,4004,0,0,1"));
  EXPECT_THAT(lines[1], testing::EndsWith(",first,1998000,4000,499,0,999"));
  for (int t = 0; t < threads; ++t) {
    const std::string own = ",own" + std::to_string(t) + ",";
    EXPECT_THAT(lines, testing::Contains(HasSubstr(own + std::to_string(1000 * t) + ",1000,")));
    EXPECT_THAT(lines, testing::Contains(testing::ContainsRegex("timer.*" + own + "[0-9]+,1000,")));
  }
}

TEST_F(pcounter, mistakes_are_named) {
  const LCT_pcounter_handle_t counter = make("sends", LCT_PCOUNTER_COUNTER);
  const auto error_of = [](auto call) {
    try {
      call();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of([&] { LCT_pcounter_start(context_, counter); }), HasSubstr("only a timer"));
  EXPECT_THAT(error_of([&] { LCT_pcounter_endt(context_, counter, 1); }),
              HasSubstr("only a timer"));
  EXPECT_THAT(error_of([&] {
                LCT_pcounter_add(context_, {LCT_PCOUNTER_COUNTER, 1}, 1);
              }),
              HasSubstr("test: the counter 1 is not registered in this context, which has 1"));
  EXPECT_THAT(error_of([&] {
                LCT_pcounter_add(context_, {LCT_PCOUNTER_TREND, -1}, 1);
              }),
              HasSubstr("the trend -1 is not registered"));
  const auto unknown = static_cast<LCT_pcounter_type_t>(4);
  EXPECT_THAT(error_of([&] {
                LCT_pcounter_add(context_, {unknown, 0}, 1);
              }),
              HasSubstr("unknown type 4"));
  EXPECT_THAT(error_of([&] { make("other", unknown); }), HasSubstr("other has the unknown type 4"));
  EXPECT_THAT(error_of([&] { LCT_pcounter_add(nullptr, counter, 1); }), HasSubstr("is null"));
  EXPECT_THAT(error_of([&] { LCT_pcounter_dump(context_, nullptr); }), HasSubstr("is null"));
  EXPECT_THAT(dumped(context_), testing::ElementsAre(HasSubstr("sends,,0,,,")));
}

TEST_F(pcounter, an_end_without_a_start_is_reported_and_adds_nothing) {
  const LCT_pcounter_handle_t timer = make("work", LCT_PCOUNTER_TIMER);
  testing::internal::CaptureStderr();
  LCT_pcounter_endt(context_, timer, 5);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("test: the timer work is ended"));
  EXPECT_THAT(dumped(context_), testing::ElementsAre(HasSubstr("work,,0,,,")));
}

TEST(pcounter_environment, auto_dump_happens_at_the_end) {
  const test_file file("auto_dump");
  const test_env dump("LCT_PCOUNTER_AUTO_DUMP", file.path());
  LCT_pcounter_ctx_t context = LCT_pcounter_ctx_alloc("test");
  LCT_pcounter_add(context, LCT_pcounter_register(context, "c", LCT_PCOUNTER_COUNTER), 2);
  LCT_pcounter_add(context, LCT_pcounter_register(context, "t", LCT_PCOUNTER_TREND), 3);
  EXPECT_EQ(file.text(), "");
  LCT_pcounter_ctx_free(&context);
  EXPECT_EQ(context, nullptr);
  EXPECT_THAT(without_times(file.lines()),
              testing::ElementsAre("pcounter,trend,-1,test,T,t,3,1,3,3,3",
                                   "pcounter,counter,-1,test,T,c,2,1,2,2,2"));
}

// Waits for automatic output of the context, however long that takes.
void wait_for(const test_file& file, const char* text) {
  while (file.text().find(text) == std::string::npos) std::this_thread::yield();
}

TEST(pcounter_environment, on_the_fly_dumps_by_itself) {
  const test_file file("on_the_fly");
  const test_env dump("LCT_PCOUNTER_AUTO_DUMP", file.path());
  const test_env mode("LCT_PCOUNTER_MODE", "on-the-fly");
  const test_env interval("LCT_PCOUNTER_RECORD_INTERVAL", "1000");
  LCT_pcounter_ctx_t context = LCT_pcounter_ctx_alloc("test");
  LCT_pcounter_add(context, LCT_pcounter_register(context, "t", LCT_PCOUNTER_TREND), 3);
  wait_for(file, ",t,3,1,3,3,3\n");
  LCT_pcounter_ctx_free(&context);
}

TEST(pcounter_environment, light_dumps_when_a_thread_adds) {
  const test_file file("light");
  const test_env dump("LCT_PCOUNTER_AUTO_DUMP", file.path());
  const test_env mode("LCT_PCOUNTER_DUMP_ON_THE_FLY_LW", "1");
  const test_env interval("LCT_PCOUNTER_RECORD_INTERVAL", "1000");
  LCT_pcounter_ctx_t context = LCT_pcounter_ctx_alloc("test");
  const LCT_pcounter_handle_t trend = LCT_pcounter_register(context, "t", LCT_PCOUNTER_TREND);
  while (file.text().empty()) LCT_pcounter_add(context, trend, 1);
  LCT_pcounter_ctx_free(&context);
}

// The context records automatically, and dumps only at the end.
TEST(pcounter_environment, an_interval_alone_records) {
  const test_env interval("LCT_PCOUNTER_RECORD_INTERVAL", "1000");
  LCT_pcounter_ctx_t context = LCT_pcounter_ctx_alloc("test");
  LCT_pcounter_register(context, "t", LCT_PCOUNTER_TREND);
  while (dumped(context).empty()) std::this_thread::yield();
  LCT_pcounter_ctx_free(&context);
}

TEST(pcounter_environment, an_unusable_value_is_named) {
  const test_env mode("LCT_PCOUNTER_MODE", "always");
  for (const char* const interval : {"soon", "", "-1", "5s", "99999999999999999999999"}) {
    const test_env variable("LCT_PCOUNTER_RECORD_INTERVAL", interval);
    testing::internal::CaptureStderr();
    LCT_pcounter_ctx_t context = LCT_pcounter_ctx_alloc("test");
    LCT_pcounter_ctx_free(&context);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr("LCT_PCOUNTER_MODE=always is ignored"));
    EXPECT_THAT(text,
                HasSubstr(std::string("LCT_PCOUNTER_RECORD_INTERVAL=") + interval + " is ignored"));
  }
}

TEST(pcounter_environment, a_null_context_to_be_freed_is_reported) {
  LCT_pcounter_ctx_t none = nullptr;
  testing::internal::CaptureStderr();
  LCT_pcounter_ctx_free(&none);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("to be freed is null"));
}

}  // namespace
}  // namespace lct
