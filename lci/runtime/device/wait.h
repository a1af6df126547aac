#ifndef LCI_RUNTIME_DEVICE_WAIT_H_
#define LCI_RUNTIME_DEVICE_WAIT_H_

#include <unistd.h>

#include <cstddef>
#include <exception>

#include "lci/base/backoff.h"
#include "lci/observe/waiting.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/checked_call.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/device/poll.h"

namespace lci::rt {

// Throws std::logic_error naming the call if this thread is inside a handler, which would wait for
// itself.
inline void check_may_wait(const observe::wait_info& what) {
  if (!inside_progress()) return;
  throw_logic_error(what.call, " would have to wait inside a handler, which it may not");
}

// Makes progress on `device` (null: another thread does) until done(). Yields the processor now and
// then while nothing moves, also where the device's attribute progress_yield is false. Throws as
// check_may_wait().
template <class Done>
void wait_until(device_impl_t* device, const observe::wait_info& what, Done done) {
  if (done()) return;
  check_may_wait(what);
  const checked_call call(device, what.call);
  base::backoff backoff;
  observe::patient_waiting waiting(what);
  while (!done()) {
    waiting.round();
    if (device != nullptr) {
      poll(*device);
    } else {
      backoff.idle();
    }
  }
}

// Whether a wait for so many threads of this host is for wait_oversubscribed().
inline bool exceeds_processors(size_t threads) {
  static const auto processors = static_cast<size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  return threads > processors;
}

// As wait_until, for a wait for all ranks of a host with more ranks than processors: some of them
// can run only when this thread yields. The thread therefore yields after few attempts, and makes
// progress once before. (A barrier of 4 ranks on 2 processors: 2.6 us; with wait_until 5.1.)
template <class Done>
void wait_oversubscribed(device_impl_t& device, const observe::wait_info& what, Done done) {
  // Some ranks do run, and answer within this time.
  constexpr int attempts = 8;
  if (done()) return;
  check_may_wait(what);
  const checked_call call(&device, what.call);
  observe::patient_waiting waiting(what);
  for (;;) {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      base::cpu_pause();
      if (done()) return;
    }
    waiting.round();
    device.progress();
    base::crowd::yield();
  }
}

// As wait_until, for an operation that uses memory of the caller until done(): an exception of
// progress comes out only then. Of several exceptions the first one does.
template <class Done>
void wait_out(device_impl_t& device, const observe::wait_info& what, Done done) {
  std::exception_ptr failure;
  while (!done()) {
    try {
      wait_until(&device, what, done);
    } catch (...) {
      // Inside a handler no wait is possible, and never will be.
      if (inside_progress()) throw;
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_WAIT_H_
