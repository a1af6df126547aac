// A small number that identifies the calling thread, to choose one of several per-thread slots.
#ifndef LCI_BASE_THREAD_NUMBER_H_
#define LCI_BASE_THREAD_NUMBER_H_

#include <cstdint>

namespace lci::base {

namespace internal {
constexpr uint32_t no_thread_number = UINT32_MAX;
// Initialized by a constant and trivially destroyed, so that a read is one move relative to the
// thread pointer, without a guard.
inline thread_local uint32_t this_thread_number = no_thread_number;
uint32_t assign_thread_number();
}  // namespace internal

// Returns the calling thread's number. No two living threads have the same number. It is the lowest
// number that was free at the thread's first call, and is released when the thread ends. It is
// therefore always less than the greatest number of threads that were alive (and had called) at one
// time. There is no other upper bound: with a fixed number of slots, use the number modulo that and
// expect sharing; with one slot per thread, let the number of slots grow.
//
// A later thread may thus take over a slot, and sees everything that the earlier thread wrote
// there. The first call of a thread takes a lock and may allocate (std::bad_alloc); later calls are
// wait-free. Works in destructors of thread-local and static objects.
inline uint32_t thread_number() {
  const uint32_t number = internal::this_thread_number;
  if (__builtin_expect(number != internal::no_thread_number, 1)) return number;
  return internal::assign_thread_number();
}

}  // namespace lci::base

#endif  // LCI_BASE_THREAD_NUMBER_H_
