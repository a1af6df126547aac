#include "benchmarks/compare/two_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace compare {
namespace {

constexpr uint64_t meetings = 1000;

// Each rank writes its own word and, when they have met, reads the other's.
void exchange(int exit_code_of_rank_0) {
  uint64_t wrong = 0;
  int rank = 0;
  {
    two_processes processes(2 * sizeof(uint64_t));
    rank = processes.rank();
    auto* const words = static_cast<uint64_t*>(processes.shared());
    for (uint64_t i = 1; i <= meetings; ++i) {
      words[rank] = i;
      processes.meet();
      wrong += words[1 - rank] != i ? 1 : 0;
      processes.meet();
    }
    if (rank == 1) {
      _exit(wrong == 0 ? 0 : 1);
    }
  }
  _exit(wrong == 0 ? exit_code_of_rank_0 : 1);
}

TEST(TwoProcesses, SeeWhatTheOtherDidBeforeTheyMet) {
  EXPECT_EXIT(exchange(7), testing::ExitedWithCode(7), "");
}

// Otherwise rank 0 would wait for it for ever.
TEST(TwoProcesses, FailTogether) {
  const auto end_rank_1_by = [](void (*how)()) {
    two_processes processes(0);
    if (processes.rank() == 1) {
      how();
    }
    processes.meet();
    _exit(0);
  };
  EXPECT_EXIT(end_rank_1_by([] { _exit(3); }), testing::ExitedWithCode(1), "rank 1 failed");
  EXPECT_EXIT(end_rank_1_by([] { raise(SIGKILL); }), testing::ExitedWithCode(1), "rank 1 failed");
}

}  // namespace
}  // namespace compare
