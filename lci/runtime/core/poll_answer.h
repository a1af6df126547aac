#ifndef LCI_RUNTIME_CORE_POLL_ANSWER_H_
#define LCI_RUNTIME_CORE_POLL_ANSWER_H_

#include "lci/api/types.hpp"

namespace lci::rt {

// Whether a backend's poll may answer so: done, retry or retry_lock.
inline bool is_poll_answer(error_t answer) {
  return answer.errorcode == errorcode_t::retry || answer.errorcode == errorcode_t::retry_lock ||
         answer.is_done();
}

// Logs another answer, once in a process. The line is all that shows why such a device makes no
// progress.
[[gnu::noinline, gnu::cold]] void report_poll_answer(error_t answer);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_POLL_ANSWER_H_
