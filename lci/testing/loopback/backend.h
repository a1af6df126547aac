#ifndef LCI_TESTING_LOOPBACK_BACKEND_H_
#define LCI_TESTING_LOOPBACK_BACKEND_H_

#include "lci/net/backend.h"

namespace lci::net::loopback {

extern const backend_entry backend;

}  // namespace lci::net::loopback

#endif  // LCI_TESTING_LOOPBACK_BACKEND_H_
