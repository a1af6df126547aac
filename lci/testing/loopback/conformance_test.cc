// [begin test]
#include "lci/testing/conformance/suite.h"
#include "lci/testing/loopback/backend.h"

namespace lci::net::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Loopback, Conformance,
                         testing::Values(backend_under_test{"loopback", &loopback::backend, 1},
                                         backend_under_test{"loopback", &loopback::backend, 2},
                                         backend_under_test{"loopback", &loopback::backend, 3},
                                         backend_under_test{"loopback", &loopback::backend, 4}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
// [end test]
