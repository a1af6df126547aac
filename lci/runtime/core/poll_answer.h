#ifndef LCI_RUNTIME_CORE_POLL_ANSWER_H_
#define LCI_RUNTIME_CORE_POLL_ANSWER_H_

#include "lci/api/types.hpp"

namespace lci::rt {

// Logs, once in a process, that a backend's poll has answered something other than done, retry and
// retry_lock. The log line is all that shows why such a device makes no progress.
[[gnu::noinline, gnu::cold]] void check_poll_answer(error_t answer);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_POLL_ANSWER_H_
