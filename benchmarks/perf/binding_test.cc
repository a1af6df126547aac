#include "benchmarks/perf/binding.h"

#include <sched.h>

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::ElementsAre;

TEST(binding, cores_come_before_their_second_threads) {
  EXPECT_THAT(places({{0, 0}, {1, 0}, {2, 2}, {3, 2}}), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(places({{0, 0}, {1, 1}, {2, 0}, {3, 1}}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(places({{5, 5}, {3, 3}}), ElementsAre(3, 5));
  EXPECT_THAT(places({{7, 7}}), ElementsAre(7));
}

TEST(binding, each_thread_has_a_place_of_its_own_or_shares_it_with_its_neighbors) {
  const auto row = [](int all, int places) {
    std::vector<int> result;
    for (int i = 0; i < all; ++i) result.push_back(place_of(i, all, places));
    return result;
  };
  EXPECT_THAT(row(2, 4), ElementsAre(0, 1));
  EXPECT_THAT(row(3, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(row(4, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(row(5, 2), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(row(3, 1), ElementsAre(0, 0, 0));
}

TEST(binding, a_thread_stays_where_it_is_bound) {
  const std::vector<int> all = places(allowed_processors());
  ASSERT_FALSE(all.empty());
  const auto count = static_cast<int>(all.size());
  for (int place = 0; place < count; ++place) {
    std::thread([&] {
      bind_this_thread({place, count}, 0);
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
      EXPECT_EQ(CPU_COUNT(&set), 1);
      EXPECT_TRUE(CPU_ISSET(all[static_cast<size_t>(place)], &set));
      EXPECT_EQ(sched_getcpu(), all[static_cast<size_t>(place)]);
    }).join();
  }
}

TEST(binding, the_processor_has_a_name) {
  EXPECT_THAT(processor_name(), ::testing::ContainsRegex("^[^ ].* \\([0-9]+ processors\\)$"));
}

}  // namespace
}  // namespace perf
