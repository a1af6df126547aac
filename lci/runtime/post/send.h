#ifndef LCI_RUNTIME_POST_SEND_H_
#define LCI_RUNTIME_POST_SEND_H_

#include "lci/api/types.hpp"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

// Sends a message or an active message: chooses the protocol (choose.h) and starts it.
//   done    the buffer is the caller's again
//   posted  outgoing.comp (may be null) will be signaled
//   retry   nothing happened; not if `may_wait` (in the backlog)
// Throws peer_failure_error if the peer is gone.
error_t send(device_impl_t& device, const operation& outgoing, bool may_wait);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_SEND_H_
