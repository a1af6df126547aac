// When several ranks have failed, the first one reported to the program is the first one that the
// job lost.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/boot/bootstrap.h"
#include "lci/boot/in_process.h"
#include "lci/net/sim/backend.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

TEST(FirstVictimTest, IsTheOneThatTheJobHasLostFirst) {
  const auto job = boot::make_in_process_job(4, patience);
  EXPECT_EQ(rt::first_victim(*job[0], 2), 2);
  EXPECT_EQ(rt::first_victim(*job[0], 1), 2);
  EXPECT_EQ(rt::first_victim(*job[3], 1), 2);
  // A rank is not notified of its own end.
  EXPECT_EQ(rt::first_victim(*job[2], 1), 1);
}

// Rank 0 notices the end of rank 1, and the job knows of rank 2, which rank 0 notices later.
TEST(FirstVictimTest, ARankIsToldTheFirstVictimBeforeTheOneThatItHasNoticed) {
  std::atomic<bool> is_over{false};
  run_ranks(3, [&is_over](std::unique_ptr<boot::bootstrap> own) {
    global_attr_t defaults;
    defaults.backend = attr_backend_t::sim;
    boot::bootstrap& boot = *own;
    const auto impl = std::make_unique<runtime_impl_t>(std::move(own), runtime_attr_t(), defaults);
    const runtime_t runtime(impl.get());
    barrier_x().runtime(runtime)();
    ASSERT_TRUE(boot.barrier("all have left the barrier", patience).ok());
    if (impl->rank() != 0) {
      while (!is_over) std::this_thread::yield();
      return;
    }
    boot.report_lost(2);
    net::sim::fabric& fabric = *net::sim::fabric_of(*impl->default_net_context()->net);
    fabric.lose(1);
    std::vector<int> failures;
    const auto poll = [&] {
      try {
        progress_x().runtime(runtime)();
      } catch (const peer_failure_error& error) {
        failures.push_back(error.failed_rank());
      }
    };
    while (failures.empty()) poll();
    EXPECT_EQ(failures, std::vector<int>{2});
    EXPECT_EQ(impl->first_failed(), 2);
    EXPECT_TRUE(impl->has_failed(1) && impl->has_failed(2));
    try {
      barrier_x().runtime(runtime)();
      ADD_FAILURE() << "a barrier without two of its ranks";
    } catch (const peer_failure_error& error) {
      // That of rank 1 comes out of the progress of the barrier, or later.
      failures.push_back(error.failed_rank());
    }
    while (failures.back() != 1) poll();
    // The failure of rank 2 that the device notices is not reported again.
    const size_t failure_count = failures.size();
    fabric.lose(2);
    for (int i = 0; i < 20000; ++i) poll();
    EXPECT_EQ(failures.size(), failure_count);
    is_over = true;
  });
}

}  // namespace
}  // namespace lci
