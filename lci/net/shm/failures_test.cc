// Beyond the conformance suite: lost ranks in a job with more ranks than one poll looks at.
#include <chrono>
#include <csignal>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/boot/process.h"
#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

constexpr int ranks = 12;

class ShmFailures : public Conformance {};

void wait_until(std::chrono::steady_clock::time_point time) {
  base::backoff backoff;
  while (std::chrono::steady_clock::now() <= time) backoff.idle();
}

void wait_for_the_end_of(const boot::process_id& process) {
  base::backoff backoff;
  while (boot::is_alive(process)) backoff.idle();
}

// The poll that finds out that ranks are gone has not looked at the rings of all of them.
TEST_P(ShmFailures, AllMessagesOfALostRankComeBeforeItsLoss) {
  run_processes(ranks - 1, [](rank_under_test& self) {
    // The device looks for lost ranks in one poll of so many, and not more often than this.
    constexpr int polls_between_looks = 256;
    constexpr std::chrono::milliseconds time_between_looks{100};
    const auto begin = std::chrono::steady_clock::now();
    completion found[4 * ranks];
    size_t count = 0;
    const auto processes = self.exchange(boot::this_process());
    if (self.rank != 0) {
      self.barrier();
      const uint64_t value = 42;
      op message;
      message.inject = true;
      message.buffer = const_cast<uint64_t*>(&value);
      message.size = sizeof(value);
      if (self.dev.post(message).is_done()) raise(SIGKILL);
      return;
    }
    for (int i = 1; i < polls_between_looks; ++i) {
      ASSERT_TRUE(self.dev.poll(found, 4 * ranks, &count).is_retry());
    }
    self.barrier();
    for (int victim = 1; victim < ranks; ++victim) {
      wait_for_the_end_of(processes[static_cast<size_t>(victim)]);
    }
    wait_until(begin + time_between_looks);
    std::vector<bool> has_sent(ranks, false);
    int lost = 0;
    while (lost < ranks - 1) {
      static_cast<void>(self.dev.poll(found, 4 * ranks, &count));
      for (size_t i = 0; i < count; ++i) {
        const auto from = static_cast<size_t>(found[i].rank);
        if (found[i].kind == completion_kind::recv) {
          has_sent[from] = true;
          continue;
        }
        ASSERT_EQ(found[i].kind, completion_kind::peer_failed);
        EXPECT_TRUE(has_sent[from]) << "rank " << from;
        ++lost;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmFailures,
                         testing::Values(backend_under_test{"shm", &shm::backend, ranks, true}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
