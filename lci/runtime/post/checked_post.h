#ifndef LCI_RUNTIME_POST_CHECKED_POST_H_
#define LCI_RUNTIME_POST_CHECKED_POST_H_

#include "lci/api/comm.hpp"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/post/transfer.h"

namespace lci::rt {

// Posts by `post` where a checker watches the device, and reports the operation and its result to
// the checker.
status_t post_checked(const post_args_t& args, transfer kind, const target& target,
                      status_t (*post)(const post_args_t& args, const struct target& target));

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_CHECKED_POST_H_
