#ifndef LCI_BASE_THREAD_OBJECT_H_
#define LCI_BASE_THREAD_OBJECT_H_

#include <cxxabi.h>

#include <memory>
#include <new>

// The shared object or program that this code is part of.
extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace lci::base {

// An object of each thread, made by the first get(). A thread_local object is destroyed before the
// program's thread-local objects that were made earlier, and on the main thread before all static
// objects, whose destructors may call the library. get() makes a new object there, which is
// destroyed with its thread, or stays if the process ends. Only a pointer is thread-local itself: a
// program that loads the library at run time has some 1.6 KB for all thread-local objects.
template <class T>
class thread_object {
 public:
  static T& get() {
    if (__builtin_expect(own_ == nullptr, 0)) make();
    return *own_;
  }

 private:
  // What the compiler calls for a thread_local object, except that it can be called once more. It
  // keeps a library that dlclose() has been called for in memory until the thread ends.
  [[gnu::noinline]] static void make() {
    auto made = std::make_unique<T>();
    if (abi::__cxa_thread_atexit(&destroy, made.get(), &__dso_handle) != 0) throw std::bad_alloc();
    own_ = made.release();
  }
  static void destroy(void* object) {
    own_ = nullptr;
    delete static_cast<T*>(object);
  }

  static inline thread_local T* own_ = nullptr;
};

}  // namespace lci::base

#endif  // LCI_BASE_THREAD_OBJECT_H_
