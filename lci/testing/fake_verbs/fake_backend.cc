#include "lci/testing/fake_verbs/fake_backend.h"

#include "lci/net/ibv/context.h"
#include "lci/testing/fake_verbs/fake_verbs.h"

namespace lci::net::ibv {

const backend_entry fake_backend = {attr_backend_t::ibv, "ibv", -1, [] { return true; },
                                    [](boot::bootstrap& boot, const context_config& config) {
                                      return rdma_context::make_with(fake_verbs(), boot, config);
                                    }};

}  // namespace lci::net::ibv
