#ifndef LCI_TESTING_FAKE_VERBS_FAKE_BACKEND_H_
#define LCI_TESTING_FAKE_VERBS_FAKE_BACKEND_H_

#include "lci/net/backend.h"

namespace lci::net::ibv {

// The ibv backend over simulated devices (fake_verbs.h).
extern const backend_entry fake_backend;

}  // namespace lci::net::ibv

#endif  // LCI_TESTING_FAKE_VERBS_FAKE_BACKEND_H_
