#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

// Devices of four lanes, whose polls also visit the lanes of threads that do not poll.
backend_under_test with_lanes(int ranks, bool processes) {
  backend_under_test tested{"shm", &shm::backend, ranks, processes};
  tested.device.shm_lanes = 4;
  return tested;
}

std::string name_with_lanes(const testing::TestParamInfo<backend_under_test>& info) {
  return name_of(info) + "_lanes";
}

INSTANTIATE_TEST_SUITE_P(ShmLanes, Conformance,
                         testing::Values(with_lanes(1, false), with_lanes(2, false),
                                         with_lanes(3, false), with_lanes(2, true),
                                         with_lanes(4, true)),
                         name_with_lanes);

INSTANTIATE_TEST_SUITE_P(Shm, Conformance,
                         testing::Values(backend_under_test{"shm", &shm::backend, 1},
                                         backend_under_test{"shm", &shm::backend, 2},
                                         backend_under_test{"shm", &shm::backend, 3},
                                         backend_under_test{"shm", &shm::backend, 4},
                                         backend_under_test{"shm", &shm::backend, 1, true},
                                         backend_under_test{"shm", &shm::backend, 2, true},
                                         backend_under_test{"shm", &shm::backend, 3, true},
                                         backend_under_test{"shm", &shm::backend, 4, true}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
