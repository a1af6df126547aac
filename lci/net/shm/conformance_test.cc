#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

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
