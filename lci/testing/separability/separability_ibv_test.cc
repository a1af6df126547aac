// Separability of devices of the ibv backend, over the simulated libibverbs: the tests cover all
// but libibverbs itself.
#include "lci/testing/backend_override/backend_override.h"
#include "lci/testing/fake_verbs/fake_backend.h"
#include "lci/testing/separability/separability.h"

namespace lci::separability {
namespace {

std::vector<parameter> all() {
  static const net::backend_override fake(net::ibv::fake_backend);
  // The simulated library has one lock, and counters.
  return all_work_over(
      {{"ibv", attr_backend_t::ibv, "", /*has_library=*/true, /*library_shares=*/true}});
}

INSTANTIATE_TEST_SUITE_P(OverVerbs, Separability, testing::ValuesIn(all()), name_of);

}  // namespace
}  // namespace lci::separability
