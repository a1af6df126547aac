#include "lci/base/thread_number.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <new>
#include <vector>

#include "lci/base/check.h"

namespace lci::base::internal {
namespace {

// Keeps the library that has this code in memory: a thread may call registry::release when it ends,
// after dlclose(). Without effect in a program, which is not unloaded.
void stay_loaded() {
  Dl_info info;
  void* object = nullptr;
  const auto here = reinterpret_cast<void*>(&stay_loaded);
  if (::dladdr1(here, &info, &object, RTLD_DL_LINKMAP) == 0) return;
  const char* const file = static_cast<const link_map*>(object)->l_name;
  if (*file != '\0') ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

class registry {
 public:
  registry() {
    stay_loaded();
    // A key, not a thread_local with a destructor: keys are destroyed after thread-locals, and a
    // key that is set again meanwhile is destroyed again, so that a late caller always finds a
    // number.
    const int error = pthread_key_create(&at_thread_exit_, &registry::release);
    LCI_CHECK(error == 0, "pthread_key_create gave error ", error,
              "; the process has too many thread-specific keys");
  }

  uint32_t acquire() {
    std::lock_guard<std::mutex> lock(mutex_);
    uint32_t number = next_;
    if (free_.empty()) {
      free_.reserve(next_ + size_t{1});  // room to release it: release() cannot report a failure
      ++next_;
    } else {
      std::pop_heap(free_.begin(), free_.end(), std::greater<>());
      number = free_.back();
      free_.pop_back();
    }
    // The key's value must not be null, hence + 1.
    const auto value = static_cast<uintptr_t>(number) + 1;
    if (pthread_setspecific(at_thread_exit_, reinterpret_cast<void*>(value)) != 0) {
      put_back(number);
      throw std::bad_alloc();
    }
    return number;
  }

  // Never destroyed: threads may end after main has returned.
  static registry& get() {
    static registry* const instance = new registry;
    return *instance;
  }

 private:
  void put_back(uint32_t number) {
    free_.push_back(number);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }

  static void release(void* value) {
    registry& self = get();
    std::lock_guard<std::mutex> lock(self.mutex_);
    self.put_back(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(value) - 1));
    this_thread_number = no_thread_number;
  }

  pthread_key_t at_thread_exit_{};
  std::mutex mutex_;  // also orders writes of a number's earlier holder before reads of a later one
  uint32_t next_ = 0;
  std::vector<uint32_t> free_;  // a heap, the lowest number on top
};

}  // namespace

uint32_t assign_thread_number() {
  this_thread_number = registry::get().acquire();
  return this_thread_number;
}

}  // namespace lci::base::internal
