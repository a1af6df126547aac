// Sends that are complete when the network has handed them to the other side.
#include <atomic>
#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class NetworkSemantic : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFourRanks, NetworkSemantic, testing::ValuesIn(one_to(4)));

// Rank 0 makes no progress once its sends are complete.
TEST_P(NetworkSemantic, ACompleteSendNeedsNoProgress) {
  const int count = ranks();
  if (count < 2) GTEST_SKIP() << "a message to the rank itself needs its progress";
  static std::atomic<bool> has_arrived;
  has_arrived = false;
  run(count, [](rank_under_test& self) {
    constexpr int64_t messages = 20;
    uint64_t value = 7;
    if (self.rank == 0) {
      comp_t sent = alloc_counter_x().runtime(self.runtime)();
      int64_t posted = 0;
      for (int64_t i = 0; i < messages; ++i) {
        const status_t out = accepted(post_send_x(self.to, &value, sizeof(value), 1, sent)
                                          .comp_semantic(comp_semantic_t::network)
                                          .runtime(self.runtime));
        posted += out.is_posted() ? 1 : 0;
      }
      while (counter_get_x(sent).runtime(self.runtime)() < posted) {
        progress_x().runtime(self.runtime)();
      }
      while (!has_arrived) std::this_thread::yield();
      free_comp_x{&sent}.runtime(self.runtime)();
    } else if (self.from == 0) {
      for (int64_t i = 0; i < messages; ++i) {
        const status_t status =
            post_recv_x(self.from, &value, sizeof(value), 1, COMP_NULL).runtime(self.runtime)();
        EXPECT_TRUE(status.is_done());
      }
      has_arrived = true;
    }
    self.meet();
  });
}

}  // namespace
}  // namespace lci
