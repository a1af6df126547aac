#ifndef LCI_RUNTIME_POST_AWAITED_H_
#define LCI_RUNTIME_POST_AWAITED_H_

#include <atomic>
#include <memory>

#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

// The completion object of an operation whose caller waits for it.
class flag final : public comp_impl_t {
 public:
  void signal(status_t status) override {
    status_ = status;
    set_.store(true, std::memory_order_release);
  }
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  const status_t& status() const { return status_; }

 private:
  status_t status_;
  std::atomic<bool> set_{false};
};

// The completion object of an operation that its caller cannot wait for. Deletes itself.
class nobody final : public comp_impl_t {
 public:
  void signal(status_t) override { delete this; }
};

// Runs an operation whose caller waits for its end. start() starts it, with the completion object
// that this call gives it: `done`, `posted` or a retry code, or an exception. Returns `done`;
// `fatal`, if it has failed since; or, with `may_retry`, a retry code of the first start. *status
// is that of an operation that was posted. describe() names it in the text of std::logic_error,
// which is thrown if it does not end at once inside a handler, which may not wait.
template <class Start, class Describe>
error_t run_and_wait(device_impl_t& device, operation* started, const observe::wait_info& what,
                     bool may_retry, const Start& start, const Describe& describe,
                     status_t* status) {
  flag finished;
  // Inside a handler the operation outlives this call if it does not end at once.
  std::unique_ptr<nobody> left_alone;
  if (inside_progress()) left_alone = std::make_unique<nobody>();
  started->comp = left_alone == nullptr ? static_cast<comp_impl_t*>(&finished) : left_alone.get();
  error_t result = start();
  if (result.is_retry()) {
    if (may_retry) return result;
    wait_until(&device, what, [&] {
      result = start();
      return !result.is_retry();
    });
  }
  if (result.is_done()) return result;
  if (left_alone != nullptr) {
    static_cast<void>(left_alone.release());
    throw_logic_error(describe(),
                      " would have to wait inside a handler, which it may not; it has begun, and "
                      "its buffer is in use until it ends: give it a completion object");
  }
  wait_out(device, what, [&] { return finished.is_set(); });
  *status = finished.status();
  return status->error.errorcode == errorcode_t::fatal ? errorcode_t::fatal : errorcode_t::done;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_AWAITED_H_
