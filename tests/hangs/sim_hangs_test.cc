// The jobs that hang, over the simulated network: their ranks are threads of one process.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/hangs/hung_job.h"
#include "tests/hangs/hung_jobs.h"

namespace {

using hangs::hung_job;

class Hang : public testing::TestWithParam<hung_job> {};

TEST_P(Hang, IsNamed) { hangs::expect_named(GetParam()); }

// All but those that hang while the runtime begins or ends, which a rank as a thread makes by
// itself.
std::vector<hung_job> simulated(std::vector<hung_job> jobs) {
  const auto needs_process = [](const hung_job& job) {
    const std::string name = job.name;
    return name == "sender_finalizes" || name == "finalizes_without_receive" ||
           name == "finalize_with_a_large_message";
  };
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(), needs_process), jobs.end());
  for (hung_job& each : jobs) each.backend = "sim";
  return jobs;
}

INSTANTIATE_TEST_SUITE_P(Receives, Hang, testing::ValuesIn(simulated(hangs::receive_jobs())),
                         hangs::name_of);
INSTANTIATE_TEST_SUITE_P(LargeMessages, Hang,
                         testing::ValuesIn(simulated(hangs::large_message_jobs())), hangs::name_of);
INSTANTIATE_TEST_SUITE_P(Collectives, Hang, testing::ValuesIn(simulated(hangs::collective_jobs())),
                         hangs::name_of);
INSTANTIATE_TEST_SUITE_P(Objects, Hang, testing::ValuesIn(simulated(hangs::object_jobs())),
                         hangs::name_of);
INSTANTIATE_TEST_SUITE_P(More, Hang, testing::ValuesIn(simulated(hangs::rarer_jobs())),
                         hangs::name_of);
INSTANTIATE_TEST_SUITE_P(
    ManyRanks, Hang,
    testing::Values(
        hung_job{"ring", 16, {"ranks wait for each other in a cycle: 0 -> 15 -> 14"}, "0.5", "sim"},
        hung_job{"missing_in_barrier",
                 16,
                 {"ranks 1-15 are in barrier #1", "rank 0 is not in"},
                 "0.5",
                 "sim"}),
    hangs::name_of);

}  // namespace
