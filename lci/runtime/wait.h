#ifndef LCI_RUNTIME_WAIT_H_
#define LCI_RUNTIME_WAIT_H_

#include <exception>
#include <stdexcept>

#include "lci/base/backoff.h"
#include "lci/base/strings.h"
#include "lci/observe/waiting.h"
#include "lci/runtime/device.h"
#include "lci/runtime/poll.h"

namespace lci::rt {

// Makes progress on `device` (null: somebody else does) until done(). Yields the processor now and
// then while nothing moves, also where the device's attribute progress_yield is false. Throws
// std::logic_error naming the call if this thread is inside a handler, which would wait for itself.
template <class Done>
void wait_until(device_impl_t* device, const observe::wait_info& what, Done done) {
  if (done()) return;
  if (inside_progress()) {
    throw std::logic_error(
        base::StrCat("lci: ", what.call, " would have to wait inside a handler, which it may not"));
  }
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

#endif  // LCI_RUNTIME_WAIT_H_
