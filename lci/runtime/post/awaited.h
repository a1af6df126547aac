#ifndef LCI_RUNTIME_POST_AWAITED_H_
#define LCI_RUNTIME_POST_AWAITED_H_

#include <atomic>

#include "lci/runtime/completion/impl.h"

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

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_AWAITED_H_
