#include "tools/info/job.h"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/boot/in_process.h"

namespace lci::info {
namespace {

using testing::HasSubstr;
using testing::Not;

info with_packets(const std::string& size) {
  info all;
  all.attributes.push_back(
      {"packet pool", "packet_size", "LCI_ATTR_PACKET_SIZE", "number", "8192", size, false, ""});
  return all;
}

// Returns the job as each of three ranks learns it. Rank 1 has collected `other`.
std::vector<base::StatusOr<job_info>> job_with(const base::StatusOr<info>& other) {
  std::vector<base::StatusOr<job_info>> jobs(3, base::InternalError("not run"));
  std::vector<std::thread> threads;
  for (auto& boot : boot::make_in_process_job(3, std::chrono::seconds(120))) {
    threads.emplace_back([&, own = std::move(boot)] {
      const auto rank = static_cast<size_t>(own->rank());
      jobs[rank] = collect_job(*own, rank == 1 ? other : with_packets("8192"));
    });
  }
  for (std::thread& each : threads) each.join();
  return jobs;
}

TEST(job, all_ranks_learn_the_network_and_why) {
  for (const auto& job : job_with(with_packets("8192"))) {
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_EQ(job->hosts.size(), 3u);
    EXPECT_EQ(job->network, "shm");
    EXPECT_THAT(job->reason, HasSubstr("on one host"));
    EXPECT_EQ(job->differences, "");
    EXPECT_THAT(as_text(*job), HasSubstr("ranks 0-2 on " + job->hosts[0]));
    EXPECT_THAT(as_text(*job), HasSubstr("the same on all ranks"));
  }
}

TEST(job, attributes_that_differ_are_named) {
  for (const auto& job : job_with(with_packets("4096"))) {
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_EQ(job->differences,
              "packet_size (LCI_ATTR_PACKET_SIZE) is 8192 on ranks 0, 2, 4096 on rank 1");
    EXPECT_THAT(as_text(*job), Not(HasSubstr("the same on all ranks")));
    EXPECT_THAT(as_json(*job), HasSubstr("\"differences\": \"packet_size"));
  }
}

TEST(job, all_ranks_learn_why_it_does_not_start) {
  setenv("LCI_ATTR_BACKEND", "ucx", 1);
  const auto jobs = job_with(with_packets("8192"));
  unsetenv("LCI_ATTR_BACKEND");
  for (const auto& job : jobs) {
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_EQ(job->network, "");
    EXPECT_THAT(job->reason, HasSubstr("not part of this library"));
    EXPECT_THAT(as_text(*job), HasSubstr("does not start: "));
  }
}

TEST(job, a_bad_variable_of_one_rank_is_the_answer_of_all) {
  for (const auto& job : job_with(base::InvalidArgumentError("LCI_ATTR_NPACKETS is bad"))) {
    ASSERT_FALSE(job.ok());
    EXPECT_THAT(std::string(job.status().message()), HasSubstr("LCI_ATTR_NPACKETS is bad"));
  }
}

}  // namespace
}  // namespace lci::info
