// The ring under every schedule within some bounds, and many random ones beyond; with a sender that
// is killed at each of its steps; and with errors planted in copies, which have to be found.
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/net/shm/reader_credit_unordered.h"
#include "lci/net/shm/reader_free_unordered.h"
#include "lci/net/shm/reader_reclaim_unordered.h"
#include "lci/net/shm/reader_word_unordered.h"
#include "lci/net/shm/writer_credit_unordered.h"
#include "lci/net/shm/writer_no_wipe.h"
#include "lci/net/shm/writer_publish_unordered.h"
#include "lci/net/shm/writer_too_much_room.h"
#include "lci/testing/explorer/choices.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/scenarios/ring_scenario.h"

namespace lci::net::shm {
namespace {

using ds::explorer::exploration;
using ds::explorer::explore;
using maker = std::function<std::unique_ptr<ds::explorer::scenario>()>;
using right = ring_scenario<basic_ring_writer, basic_ring_reader>;

// Once round the ring and further: small messages, large ones, ones that a pad stands before, and
// small ones where the insides of large ones were.
const std::vector<std::vector<size_t>> scripts = {
    {8, 8, 8, 8, 8, 8, 8, 8, 8, 8},
    {24, 24, 24, 24, 8, 8, 8, 8, 8},
    {8, 24, 24, 24, 24, 0, 8},
    {24, 8, 24, 8, 24, 8, 24},
};

// LCI_TEST_EXPLORE_RUNS=100000 for a night.
size_t most_runs() {
  const char* asked = std::getenv("LCI_TEST_EXPLORE_RUNS");
  return asked == nullptr ? 1000 : std::strtoul(asked, nullptr, 10);
}

TEST(RingExplore, EveryMessageComesOnceAndWhole) {
  for (const std::vector<size_t>& sizes : scripts) {
    const maker make = [&] { return std::make_unique<right>(sizes); };
    ds::explorer::all_choices all(2, 1);
    const exploration bounded = explore(make, all, most_runs());
    EXPECT_EQ(bounded.failure, "") << "schedule: " << bounded.schedule;
    EXPECT_GT(bounded.runs, 10u);
    ds::explorer::random_choices random(1);
    const exploration by_chance = explore(make, random, most_runs());
    EXPECT_EQ(by_chance.failure, "") << "schedule: " << by_chance.schedule;
    EXPECT_EQ(by_chance.runs, most_runs());
  }
}

// Messages that were sent before arrive complete, and nothing else arrives.
TEST(RingExplore, ASenderMayBeKilledAtAnyStep) {
  for (const std::vector<size_t>& sizes : scripts) {
    for (size_t steps = 0; steps < 40; ++steps) {
      ds::explorer::random_choices random(steps);
      const exploration killed =
          explore([&] { return std::make_unique<right>(sizes, steps); }, random, most_runs() / 20);
      EXPECT_EQ(killed.failure, "") << "after " << steps << " steps: " << killed.schedule;
    }
  }
}

template <template <class> class Writer, template <class> class Reader>
void expect_found(const std::vector<size_t>& sizes, const std::string& what) {
  ds::explorer::random_choices random(1);
  const maker make = [&] { return std::make_unique<ring_scenario<Writer, Reader>>(sizes); };
  const exploration found = explore(make, random, 100000);
  ASSERT_NE(found.failure, "") << "not found in " << found.runs << " runs";
  EXPECT_THAT(found.failure, testing::HasSubstr(what));
  ds::explorer::replay_choices again(found.schedule);
  EXPECT_EQ(explore(make, again, 1).failure, found.failure);
}

TEST(RingExplore, FindsErrorsOfTheWriter) {
  expect_found<writer_publish_unordered::basic_ring_writer, basic_ring_reader>(scripts[0],
                                                                               "data race");
  expect_found<writer_credit_unordered::basic_ring_writer, basic_ring_reader>(scripts[0],
                                                                              "data race");
  expect_found<writer_too_much_room::basic_ring_writer, basic_ring_reader>(scripts[0], "");
  expect_found<writer_no_wipe::basic_ring_writer, basic_ring_reader>(scripts[1], "");
}

TEST(RingExplore, FindsErrorsOfTheReader) {
  expect_found<basic_ring_writer, reader_word_unordered::basic_ring_reader>(scripts[0],
                                                                            "data race");
  expect_found<basic_ring_writer, reader_credit_unordered::basic_ring_reader>(scripts[0],
                                                                              "data race");
  expect_found<basic_ring_writer, reader_free_unordered::basic_ring_reader>(scripts[0],
                                                                            "data race");
  expect_found<basic_ring_writer, reader_reclaim_unordered::basic_ring_reader>(scripts[0],
                                                                               "data race");
}

}  // namespace
}  // namespace lci::net::shm
