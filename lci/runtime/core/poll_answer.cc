#include "lci/runtime/core/poll_answer.h"

#include <atomic>

#include "lci/base/log.h"

namespace lci::rt {

void report_poll_answer(error_t answer) {
  static std::atomic<bool> said{false};
  if (said.exchange(true, std::memory_order_relaxed)) return;
  LCI_LOG(error, "a poll of the backend has answered ", answer.get_str(),
          ", not done, retry or retry_lock; this is an error of the backend");
}

}  // namespace lci::rt
