// Beyond the conformance suite: the sign of life by which ranks measure how far apart they run.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lci/net/shm/backend.h"
#include "lci/net/shm/device.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

class ShmPulse : public Conformance {};

// Rank 0 looks at the pulses of both lanes of rank 1, which polls one of them.
TEST_P(ShmPulse, ChangesWhileItsLaneIsPolled) {
  run([](rank_under_test& self) {
    auto& context = static_cast<shm::shm_context&>(self.network);
    device_config config;
    config.uid = 1;
    config.attr.shm_lanes = 2;
    const device_limits limits = self.dev.limits();
    auto boxes = shm::mailboxes::make(context, self.boot, config, limits.max_send, {});
    ASSERT_TRUE(boxes.ok()) << boxes.status();
    const auto common = std::make_shared<shm::lanes_common>(*std::move(boxes), self.ranks);
    constexpr uint32_t polled = 1;
    const auto pulse = [&](uint32_t lane) { return common->boxes->pulse(1, lane).load(); };
    const auto device =
        std::make_unique<shm::shm_device>(context, config, limits, common, polled, nullptr);
    // As many polls as must show, without a message.
    constexpr int polls = 16;
    for (int round = 0; round < 3; ++round) {
      const uint32_t before = pulse(polled);
      self.barrier();
      if (self.rank == 1) {
        completion none;
        size_t count = 0;
        for (int i = 0; i < polls; ++i) EXPECT_TRUE(device->poll(&none, 1, &count).is_retry());
      }
      self.barrier();
      EXPECT_NE(pulse(polled), before) << "round " << round;
      EXPECT_EQ(pulse(0), 0u);
      self.barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmPulse,
                         testing::Values(backend_under_test{"shm", &shm::backend, 2},
                                         backend_under_test{"shm", &shm::backend, 2, true}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
