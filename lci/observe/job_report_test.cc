#include "lci/observe/job_report.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::observe {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using message = rank_report::message;

job_report job_of(int ranks) {
  job_report job;
  job.reason = "a test";
  job.size = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    job.ranks.emplace_back();
    job.ranks.back().rank = rank;
    job.ranks.back().size = ranks;
  }
  return job;
}

void wait_in(rank_report* rank, const char* call, uint64_t collective) {
  rank->waits.push_back({1, call, rank_report::any_rank, collective, 31, ""});
}

message receive_from(int64_t peer, uint64_t tag) {
  message made;
  made.what = message::kind::receive;
  made.peer = peer;
  made.tag = tag;
  made.count = 1;
  made.seconds = 31;
  return made;
}

message arrived_from(int64_t peer, uint64_t tag, uint64_t size) {
  message made = receive_from(peer, tag);
  made.what = message::kind::arrived;
  made.size = size;
  return made;
}

TEST(JobReport, OfAJobThatDoesNotWaitFindsNothing) {
  const job_report job = job_of(3);
  EXPECT_THAT(findings(job), IsEmpty());
  EXPECT_THAT(to_text(job), HasSubstr("state of the job (a test): 3 of 3 ranks answered\n"
                                      "  * nothing waits\n"));
}

TEST(JobReport, ReceiveWhoseSenderHasSentAnotherTag) {
  job_report job = job_of(2);
  job.ranks[0].messages = {receive_from(1, 7), arrived_from(1, 8, 5)};
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0 has waited for 31 s for a message with tag 7 from rank 1, which "
                          "has sent tag 8 (5 bytes) instead, unmatched"));
}

TEST(JobReport, ReceiveInAnotherEngine) {
  job_report job = job_of(2);
  message sent = arrived_from(1, 7, 1);
  sent.engine = 2;
  job.ranks[0].messages = {receive_from(1, 7), sent};
  EXPECT_THAT(findings(job),
              ElementsAre(HasSubstr("tag 7 (1 byte, another matching engine) instead")));
}

TEST(JobReport, CollectivesOfDifferentKinds) {
  job_report job = job_of(4);
  for (const size_t rank : {0, 2, 3}) wait_in(&job.ranks[rank], "barrier", 12);
  wait_in(&job.ranks[1], "allreduce", 12);
  EXPECT_THAT(findings(job),
              Contains("the ranks are in different collective operations: rank 1 is in allreduce "
                       "#12, ranks 0, 2-3 in barrier #12"));
}

// All are in the same one, which is only slow.
TEST(JobReport, ACollectiveWithAllRanksIsNoFinding) {
  job_report job = job_of(2);
  for (rank_report& rank : job.ranks) wait_in(&rank, "barrier", 3);
  EXPECT_THAT(findings(job), IsEmpty());
}

TEST(JobReport, ARankThatIsInNoCollective) {
  job_report job = job_of(3);
  wait_in(&job.ranks[0], "barrier", 12);
  wait_in(&job.ranks[2], "barrier", 12);
  job.ranks[1].engines.push_back({0, 11, "allgather"});
  job.ranks[1].devices.push_back({0, 30, 100, 0, 0});
  EXPECT_THAT(findings(job),
              ElementsAre("ranks 0, 2 are in barrier #12 for 31 s",
                          "rank 1 is not in barrier #12, and waits in no call of the library; its "
                          "last one was allgather #11",
                          "rank 1: nobody has made progress on device 0 for 30 s"));
}

// By the messages that its steps wait for.
TEST(JobReport, AnOpenCollectiveOfAGroup) {
  job_report job = job_of(3);
  message step = receive_from(0, 0);
  step.engine = 4;
  step.collective = 2;
  job.ranks[2].messages = {step};
  job.ranks[2].engines.push_back({4, 2, "barrier"});
  EXPECT_THAT(findings(job),
              ElementsAre("rank 2 has begun barrier #2, which waits for rank 0; rank 0 waits in no "
                          "call of the library"));
  job.ranks[2].waits.push_back({1, "barrier of a group", rank_report::any_rank, 0, 31, "main+1"});
  EXPECT_THAT(findings(job),
              ElementsAre("rank 2 has waited for 31 s in barrier of a group at main+1, which waits "
                          "for rank 0; rank 0 waits in no call of the library"));
  job.ranks.erase(job.ranks.begin());
  EXPECT_THAT(findings(job), ElementsAre(testing::EndsWith("which waits for rank 0")));
  job.silent.push_back({0, "is stopped"});
  EXPECT_THAT(findings(job), Contains(testing::EndsWith("for rank 0; rank 0 is stopped")));
}

TEST(JobReport, CyclesAreNamedOnce) {
  job_report job = job_of(5);
  job.ranks[1].messages = {receive_from(3, 1)};
  job.ranks[3].messages = {receive_from(4, 1)};
  job.ranks[4].messages = {receive_from(1, 1)};
  job.ranks[0].messages = {receive_from(1, 1)};
  const std::vector<std::string> found = findings(job);
  EXPECT_THAT(found, Contains("ranks wait for each other in a cycle: 1 -> 3 -> 4 -> 1"));
  int cycles = 0;
  for (const std::string& each : found) cycles += each.find("cycle") != std::string::npos;
  EXPECT_EQ(cycles, 1);
}

TEST(JobReport, AnIdleDeviceIsNoFinding) {
  job_report job = job_of(2);
  job.ranks[0].devices.push_back({0, 1000, 5, 0, 0});
  EXPECT_THAT(findings(job), IsEmpty());
  job.ranks[0].devices[0].backlog = 3;
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0: nobody has made progress on device 0 for 1000 s; 3 operations "
                          "wait to be posted again"));
}

TEST(JobReport, RanksThatDoNotAnswer) {
  job_report job = job_of(2);
  job.ranks.pop_back();
  job.silent.push_back({1, "is stopped"});
  job.ranks[0].messages = {receive_from(1, 7)};
  EXPECT_THAT(findings(job),
              ElementsAre(HasSubstr("which has sent none that is unmatched and is stopped"),
                          "rank 1 is stopped"));
  EXPECT_THAT(to_text(job), HasSubstr("1 of 2 ranks answered"));
}

TEST(JobReport, Json) {
  job_report job = job_of(1);
  job.reason = "a \"test\"";
  job.silent.push_back({1, "has ended"});
  EXPECT_THAT(to_json(job),
              testing::AllOf(testing::StartsWith("{\"reason\": \"a \\\"test\\\"\", \"size\": 1, "
                                                 "\"findings\": [\"rank 1 has ended\"]"),
                             HasSubstr("\"silent\": [{\"rank\": 1, \"state\": \"has ended\"}]")));
}

}  // namespace
}  // namespace lci::observe
