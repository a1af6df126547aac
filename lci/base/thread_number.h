// A small number for the calling thread: for choosing one of several per-thread places.
#ifndef LCI_BASE_THREAD_NUMBER_H_
#define LCI_BASE_THREAD_NUMBER_H_

#include <cstdint>

namespace lci::base {

namespace internal {
constexpr uint32_t no_thread_number = UINT32_MAX;
// Initialised by a constant and trivially destroyed, so that reading it is one move relative to the
// thread pointer, with no guard.
inline thread_local uint32_t this_thread_number = no_thread_number;
uint32_t assign_thread_number();
}  // namespace internal

// The calling thread's number. No two threads alive have the same one. It is the lowest number that
// was free when the thread first asked, and is given back when the thread ends, so it is always
// less than the greatest number of threads that lived (and had asked) at one time. There is no
// other upper bound: with a fixed number of places, use the number modulo that, and expect to
// share; with one place each, let the places grow.
//
// A place may thus be taken over by a later thread; what the earlier one wrote there is visible to
// it. The first call in a thread takes a lock and may allocate (std::bad_alloc); later ones are
// wait-free. Works in destructors of thread-local and static objects.
inline uint32_t thread_number() {
  const uint32_t number = internal::this_thread_number;
  if (__builtin_expect(number != internal::no_thread_number, 1)) return number;
  return internal::assign_thread_number();
}

}  // namespace lci::base

#endif  // LCI_BASE_THREAD_NUMBER_H_
