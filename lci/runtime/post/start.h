#ifndef LCI_RUNTIME_POST_START_H_
#define LCI_RUNTIME_POST_START_H_

#include "lci/api/comm.hpp"
#include "lci/runtime/device/device.h"
#include "lci/runtime/post/transfer.h"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

// Throws for a put, get or atomic operation of `call` that the network cannot carry out.
[[noreturn, gnu::noinline, gnu::cold]] void report_unreachable(const device_impl_t& device,
                                                               int rank, const char* call);

// Starts an operation by the protocol of its kind. `done`: *status is filled. A retry code only if
// not may_wait. Throws peer_failure_error or std::runtime_error, naming what is gone.
error_t start(device_impl_t& device, transfer kind, operation& started, const post_args_t& args,
              bool may_wait, status_t* status);

// Variant for a caller that waits until the operation is complete: returns `done`, or throws. With
// `may_retry` it returns a retry code instead if the operation can't begin now.
error_t start_and_wait(device_impl_t& device, transfer kind, operation& started,
                       const post_args_t& args, bool may_retry, status_t* status);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_START_H_
