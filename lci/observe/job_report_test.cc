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

rank_report::device device(uint64_t number, uint32_t seconds_unpolled,
                           rank_report::device::arrivals messages) {
  rank_report::device made;
  made.number = number;
  made.seconds_unpolled = seconds_unpolled;
  made.messages = messages;
  return made;
}

message receive_from(int64_t peer, uint64_t tag) {
  message made;
  made.what = message::kind::receive;
  made.peer = peer;
  made.tag = tag;
  made.count = 1;
  made.policy = "rank_tag";
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

TEST(JobReport, ReceiveWithAnotherPolicy) {
  job_report job = job_of(2);
  message receive = receive_from(rank_report::any_rank, 5);
  receive.policy = "tag_only";
  job.ranks[1].messages = {receive, arrived_from(0, 5, 8)};
  EXPECT_THAT(
      findings(job),
      ElementsAre("rank 1 has waited for 31 s for a message with tag 5 from any rank; it has "
                  "got tag 5 from rank 0 with another matching policy (receive: tag_only, "
                  "message: rank_tag)"));
  EXPECT_THAT(to_text(job), HasSubstr("the oldest for 31 s, matching policy tag_only\n"));
  receive.peer = 0;
  job.ranks[1].messages[0] = receive;
  EXPECT_THAT(findings(job),
              ElementsAre(HasSubstr("has sent tag 5 (8 bytes, another matching policy "
                                    "(receive: tag_only, message: rank_tag)) instead")));
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
  job.ranks[0].devices = {device(0, 1000, rank_report::device::arrivals::none),
                          device(1, 0, rank_report::device::arrivals::none)};
  EXPECT_THAT(findings(job), IsEmpty());
  job.ranks[0].devices[0].backlog = 3;
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0: nobody has made progress on device 0 for 1000 s; 3 operations "
                          "wait to be posted again"));
}

TEST(JobReport, MessagesOnADeviceThatNobodyPolls) {
  using arrivals = rank_report::device::arrivals;
  job_report job = job_of(2);
  job.ranks[0].devices = {device(0, 0, arrivals::unknown), device(1, 14, arrivals::some)};
  job.ranks[1].devices = {device(0, 0, arrivals::unknown), device(1, 14, arrivals::none)};
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0: nobody has made progress on device 1 for 14 s, and "
                          "messages wait there"));
  // Another thread may just have begun to poll it.
  job.ranks[0].devices[1].seconds_unpolled = 1;
  EXPECT_THAT(findings(job), IsEmpty());
}

TEST(JobReport, OperationsOnADeviceThatNobodyPolls) {
  using arrivals = rank_report::device::arrivals;
  job_report job = job_of(2);
  job.ranks[0].devices = {device(0, 0, arrivals::none), device(1, 14, arrivals::none)};
  job.ranks[0].devices[1].sends = 5;
  job.ranks[0].devices[1].atomics = 1;
  EXPECT_THAT(findings(job), ElementsAre("rank 0: nobody has made progress on device 1 for 14 s; "
                                         "6 operations there are not complete"));
  job.ranks[0].devices[1].seconds_unpolled = 1;
  EXPECT_THAT(findings(job), IsEmpty());
}

// A rank that waits in a call polls the device of that call alone. Other ranks wait for it on
// another device, and so do not make the call.
TEST(JobReport, OperationsOfPeersOnADeviceThatNobodyPolls) {
  using arrivals = rank_report::device::arrivals;
  job_report job = job_of(3);
  for (rank_report& rank : job.ranks) {
    rank.devices = {device(0, 0, arrivals::unknown), device(1, 0, arrivals::unknown)};
  }
  job.ranks[1].devices[1].atomics = 1;
  EXPECT_THAT(findings(job), IsEmpty());
  wait_in(&job.ranks[0], "barrier", 12);
  job.ranks[0].devices[1].seconds_unpolled = 30;
  EXPECT_THAT(findings(job), ElementsAre("rank 0: nobody has made progress on device 1 for 30 s, "
                                         "which 1 operation of rank 1 may wait for",
                                         "rank 0 is in barrier #12 for 31 s",
                                         HasSubstr("rank 1 is not in barrier #12"),
                                         HasSubstr("rank 2 is not in barrier #12")));
  job.ranks[2].devices[1].puts_and_gets = 2;
  EXPECT_THAT(findings(job)[0], HasSubstr("which 3 operations of ranks 1-2 may wait for"));
  // The network knows better.
  job.ranks[0].devices[1].messages = arrivals::none;
  EXPECT_THAT(findings(job), Not(Contains(HasSubstr("may wait for"))));
  job.ranks[0].devices[1].messages = arrivals::unknown;
  // A rank that polls nothing is described by another finding.
  job.ranks[0].devices[0].seconds_unpolled = 30;
  EXPECT_THAT(findings(job), Not(Contains(HasSubstr("may wait for"))));
}

// Said only if nothing else is known, and the rank makes progress.
TEST(JobReport, ADeviceWhoseNetworkCannotTell) {
  using arrivals = rank_report::device::arrivals;
  job_report job = job_of(2);
  job.ranks[0].devices = {device(0, 14, arrivals::unknown), device(1, 14, arrivals::unknown)};
  EXPECT_THAT(findings(job), ElementsAre(HasSubstr("made no progress on any device")));
  job.ranks[0].devices[0].seconds_unpolled = 0;
  EXPECT_THAT(findings(job),
              ElementsAre(HasSubstr("device 1 for 14 s, while another one is polled; "
                                    "its network can't tell whether messages wait")));
  job.silent.push_back({1, "is stopped"});
  EXPECT_THAT(findings(job), ElementsAre("rank 1 is stopped"));
}

// As a thread that is blocked in a handler leaves it.
TEST(JobReport, RanksThatMakeNoProgress) {
  using arrivals = rank_report::device::arrivals;
  job_report job = job_of(3);
  job.ranks[0].devices = {device(0, 14, arrivals::none), device(1, 12, arrivals::none)};
  job.ranks[1].devices = {device(0, 14, arrivals::none), device(1, 0, arrivals::none)};
  const std::string rest =
      " for 12 s, and no thread waits in the library there: does a handler block, as on a lock "
      "that "
      "its thread holds already, or does the program compute?";
  EXPECT_THAT(findings(job), ElementsAre("rank 0 has made no progress on any device" + rest));
  job.ranks[1].devices[1].seconds_unpolled = 30;
  EXPECT_THAT(findings(job), ElementsAre("ranks 0-1 have made no progress on any device" + rest));
  // It is only said if nothing else is known.
  job.ranks[2].waits = {{1, "wait_drained", rank_report::any_rank, 0, 31, ""}};
  EXPECT_THAT(findings(job), ElementsAre("rank 2 has waited for 31 s in wait_drained"));
}

// A get may need progress of its target.
TEST(JobReport, AWaitForARankThatMakesNoProgress) {
  using arrivals = rank_report::device::arrivals;
  job_report job = job_of(2);
  job.ranks[0].waits = {{1, "post_get", 1, 0, 31, "main+1"}};
  job.ranks[1].devices = {device(0, 14, arrivals::unknown), device(1, 12, arrivals::unknown)};
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0 has waited for 31 s in post_get at main+1; rank 1 has made no "
                          "progress on any device for 12 s"));
  job.ranks[1].devices[0].seconds_unpolled = 0;
  EXPECT_THAT(findings(job), ElementsAre("rank 0 has waited for 31 s in post_get at main+1"));
}

TEST(JobReport, RefusedPosts) {
  job_report job = job_of(2);
  job.ranks[0].devices = {device(0, 9, rank_report::device::arrivals::some)};
  job.ranks[0].refused.push_back({46, 0, 1, 512, "retry_nomem", 7});
  const std::string refused =
      "posts on device 0 (the last: 512 bytes to rank 1 by thread 46, retry_nomem) have been "
      "refused "
      "again and again for 7 s";
  EXPECT_THAT(findings(job), ElementsAre("rank 0: " + refused +
                                         ", and nobody has made progress on the device meanwhile"));
  EXPECT_THAT(to_text(job), HasSubstr("    " + refused + "\n"));
  // A busy network does the same, so that this is said only if nothing else is known.
  job.ranks[0].devices[0].seconds_unpolled = 0;
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0: " + refused +
                          ", though the device is polled; others may have been accepted"));
  job.ranks[0].messages = {receive_from(1, 7)};
  EXPECT_THAT(findings(job), ElementsAre(HasSubstr("tag 7 from rank 1")));
  job.ranks[0].messages.clear();
  job.ranks[0].refused[0].seconds = 1;
  EXPECT_THAT(findings(job), IsEmpty());
}

TEST(JobReport, AThreadThatDoesNotCome) {
  job_report job = job_of(2);
  rank_report::wait wait{1, "barrier of a thread team", rank_report::any_rank, 0, 31, "main+1"};
  wait.threads_came = 2;
  wait.threads_needed = 3;
  job.ranks[0].waits = {wait};
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0 has waited for 31 s in barrier of a thread team at main+1; 2 of "
                          "the 3 threads of this rank have come"));
  EXPECT_THAT(to_text(job), HasSubstr("thread 1 has waited for 31 s in barrier of a thread team, 2 "
                                      "of the 3 threads of this rank have come, called at main+1"));
}

TEST(JobReport, ASynchronizerThatNoPostSignals) {
  job_report job = job_of(2);
  rank_report::wait wait{1, "sync_wait", rank_report::any_rank, 0, 31, "main+1"};
  wait.threshold = 1;
  job.ranks[0].waits = {wait};
  EXPECT_THAT(findings(job), ElementsAre("rank 0 has waited for 31 s in sync_wait at main+1; the "
                                         "synchronizer has 0 of 1 signals"));
  job.ranks[0].waits[0].no_post_signals = true;
  // Also if the rank waits for something else, too.
  job.ranks[0].messages = {receive_from(1, 7)};
  EXPECT_THAT(
      findings(job),
      Contains("rank 0 has waited for 31 s in sync_wait at main+1; the synchronizer has 0 of "
               "1 signals, and no pending post of this rank will signal it: has a post "
               "answered done, which signals nothing?"));
  EXPECT_THAT(to_text(job),
              HasSubstr("in sync_wait, the synchronizer has 0 of 1 signals, called at "));
}

TEST(JobReport, ARankThatEndsItsRuntimeWithALargeMessage) {
  job_report job = job_of(2);
  wait_in(&job.ranks[0], "free_runtime", 0);
  wait_in(&job.ranks[1], "free_runtime", 1);
  rank_report::transfer sent{0, true, 1, 5, 4 << 20, false};
  message announced = arrived_from(0, 5, 4 << 20);
  announced.what = message::kind::announced;
  job.ranks[0].transfers = {sent};
  job.ranks[1].messages = {announced};
  EXPECT_THAT(
      findings(job),
      ElementsAre("rank 1 is in free_runtime #1 for 31 s",
                  "rank 0 ends its runtime, and waits for its message of 4194304 bytes with "
                  "tag 5 to rank 1",
                  "rank 1 has no receive for 1 message with tag 5 (4194304 bytes) from rank "
                  "0, there for 31 s"));
  job.ranks[0].transfers.clear();
  EXPECT_THAT(findings(job), Contains("rank 0 ends its runtime, and waits for its operations"));
}

TEST(JobReport, OperationsThatTheNetworkHolds) {
  job_report job = job_of(2);
  rank_report::device busy = device(0, 0, rank_report::device::arrivals::unknown);
  busy.backlog = 2;
  busy.puts_and_gets = 3;
  busy.atomics = 1;
  job.ranks[0].devices = {busy};
  job.ranks[0].waiting = {{0, "send", 1, 64, "retry_lock", 1}, {0, "put", 1, 8, "retry_nomem", 9}};
  EXPECT_THAT(findings(job),
              ElementsAre("rank 0: the network has refused a put of 8 bytes to rank 1 "
                          "(retry_nomem) on device 0 for 9 s"));
  EXPECT_THAT(to_text(job),
              HasSubstr("0 large messages under way, 3 puts and gets, 1 atomic operations\n"
                        "      in the backlog for 1 s: send of 64 bytes to rank 1 "
                        "(retry_lock)\n"));
  job.ranks[0].waiting[1].seconds = 1;
  EXPECT_THAT(findings(job), IsEmpty());
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
