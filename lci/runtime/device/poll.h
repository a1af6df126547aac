#ifndef LCI_RUNTIME_DEVICE_POLL_H_
#define LCI_RUNTIME_DEVICE_POLL_H_

#include "lci/api/types.hpp"
#include "lci/base/poll_backoff.h"
#include "lci/runtime/device/device.h"

namespace lci::rt {

// The polls of this thread, by the program and by calls of the library that wait. A status that the
// thread takes from a queue or synchronizer counts as something that moved: another thread's poll
// may have brought it.
struct thread_polls {
  static inline thread_local base::poll_backoff own;
};

// poll() when a yield may be due. Never yields inside a handler: what this thread holds there would
// be held for as long as others run.
progress_result_t poll_or_yield(device_impl_t& device, bool may_yield);

// Makes progress on a device. After many polls in vain, of all devices that this thread polls, the
// thread gives its processor to others that wait for it (see base::poll_backoff). This is the only
// place that does so: a loop around polls need not yield.
//
// A thread for which may_yield is false counts as busy.
inline progress_result_t poll(device_impl_t& device, bool may_yield = true) {
  base::poll_backoff& polls = thread_polls::own;
  if (__builtin_expect(polls.is_timed(), 0)) return poll_or_yield(device, may_yield);
  const progress_result_t result = device.progress();
  if (result.is_done() || !may_yield) {
    polls.reset();
  } else {
    polls.idle();
  }
  return result;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_POLL_H_
