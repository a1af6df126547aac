#ifndef LCI_RUNTIME_POST_H_
#define LCI_RUNTIME_POST_H_

#include "lci/api/types.hpp"
#include "lci/runtime/device.h"
#include "lci/runtime/message.h"

namespace lci::rt {

// The way down for every message that this rank sends: picks the protocol and starts it.
//   done    outgoing.buffer is the caller's again
//   posted  outgoing.comp (may be null) will be signalled
//   retry   nothing happened; not if `may_wait` (in the backlog)
// Throws peer_failure_error if the peer is gone.
error_t post_message(device_impl_t& device, const message& outgoing, bool may_wait);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_H_
