// Separability of devices of the shared memory backend.
#include "lci/testing/separability/separability.h"

namespace lci::separability {
namespace {

INSTANTIATE_TEST_SUITE_P(OverSharedMemory, Separability,
                         testing::ValuesIn(all_work_over({{"shm", attr_backend_t::shm}})), name_of);

}  // namespace
}  // namespace lci::separability
