#include "lci/testing/fiber/fiber.h"

#include <cstdint>
#include <utility>

#include "lci/base/check.h"
#include "lci/base/sanitizer.h"

#ifdef LCI_BASE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef LCI_BASE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace lci {

fiber::fiber(std::function<void()> body, unsigned char* stack, size_t size)
    : body_(std::move(body)),
      own_stack_(stack == nullptr ? new unsigned char[size] : nullptr),
      stack_(stack == nullptr ? own_stack_.get() : stack),
      stack_size_(size) {
  LCI_CHECK(getcontext(&own_) == 0, "getcontext");
  own_.uc_stack.ss_sp = stack_;
  own_.uc_stack.ss_size = stack_size_;
  own_.uc_link = nullptr;
  // makecontext passes arguments as ints.
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&own_, reinterpret_cast<void (*)()>(&fiber::start), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
#ifdef LCI_BASE_THREAD_SANITIZER
  own_name_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
  LCI_CHECK(finished_, "a fiber is destroyed before its body has returned");
#ifdef LCI_BASE_THREAD_SANITIZER
  __tsan_destroy_fiber(own_name_);
#endif
}

void fiber::start(unsigned high, unsigned low) {
  reinterpret_cast<fiber*>(static_cast<uintptr_t>(high) << 32 | low)->run();
}

void fiber::run() {
#ifdef LCI_BASE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &resumer_stack_, &resumer_stack_size_);
#endif
  body_();
  finished_ = true;
#ifdef LCI_BASE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(nullptr, resumer_stack_, resumer_stack_size_);
#endif
#ifdef LCI_BASE_THREAD_SANITIZER
  __tsan_switch_to_fiber(resumer_name_, 0);
#endif
  setcontext(&resumer_);
}

void fiber::resume() {
#ifdef LCI_BASE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&resumer_name_, stack_, stack_size_);
#endif
#ifdef LCI_BASE_THREAD_SANITIZER
  resumer_name_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_name_, 0);
#endif
  swapcontext(&resumer_, &own_);
#ifdef LCI_BASE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(resumer_name_, nullptr, nullptr);
#endif
}

void fiber::pause() {
#ifdef LCI_BASE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&own_name_, resumer_stack_, resumer_stack_size_);
#endif
#ifdef LCI_BASE_THREAD_SANITIZER
  __tsan_switch_to_fiber(resumer_name_, 0);
#endif
  swapcontext(&own_, &resumer_);
#ifdef LCI_BASE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(own_name_, &resumer_stack_, &resumer_stack_size_);
#endif
}

}  // namespace lci
