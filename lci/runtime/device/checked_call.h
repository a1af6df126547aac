#ifndef LCI_RUNTIME_DEVICE_CHECKED_CALL_H_
#define LCI_RUNTIME_DEVICE_CHECKED_CALL_H_

#include "lci/runtime/device/device.h"

namespace lci::rt {

// A call of the program that uses a device, while it is under way: where a checker watches the
// device, freeing it meanwhile is an error (check/checker.h). Elsewhere nothing happens.
class checked_call {
 public:
  // `device`: null for none. `name`: a literal. Throws std::logic_error if another thread is freeing
  // the device.
  checked_call(const device_impl_t* device, const char* name)
      : watched_(device != nullptr && device->is_watched() ? device : nullptr) {
    if (__builtin_expect(watched_ != nullptr, 0)) enter(name);
  }
  ~checked_call() {
    if (__builtin_expect(watched_ != nullptr, 0)) leave();
  }
  checked_call(const checked_call&) = delete;
  checked_call& operator=(const checked_call&) = delete;

 private:
  void enter(const char* name) const;
  void leave() const;

  const device_impl_t* const watched_;  // null: none
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_CHECKED_CALL_H_
