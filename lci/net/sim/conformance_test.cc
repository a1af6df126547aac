
#include "lci/net/sim/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Sim, Conformance,
                         testing::Values(backend_under_test{"sim", &sim::backend, 1},
                                         backend_under_test{"sim", &sim::backend, 2},
                                         backend_under_test{"sim", &sim::backend, 3},
                                         backend_under_test{"sim", &sim::backend, 4}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
