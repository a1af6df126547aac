// The place of a thread among the threads of its process.
#ifndef LCI_BASE_THREAD_PLACE_H_
#define LCI_BASE_THREAD_PLACE_H_

#include <cstdint>

namespace lci::base {

namespace internal {
constexpr uint32_t no_thread_place = UINT32_MAX;
// As this_thread_number.
inline thread_local uint32_t this_thread_place = no_thread_place;
uint32_t find_thread_place();
}  // namespace internal

// How many living threads of the process were created before the calling thread, when it asked
// first. Processes that create their threads in the same order give the same place to threads that
// correspond to each other, in whichever order these begin to run. Two threads may have the same
// place if others have ended.
//
// The first call of a thread reads the list of the process's threads (tens of microseconds); later
// calls are wait-free. Where the system has no such list, the place is the thread_number().
inline uint32_t thread_place() {
  const uint32_t place = internal::this_thread_place;
  if (__builtin_expect(place != internal::no_thread_place, 1)) return place;
  return internal::find_thread_place();
}

// The same without a call: before the thread's first call of thread_place(), 2^32 - 1.
inline uint32_t known_thread_place() { return internal::this_thread_place; }

}  // namespace lci::base

#endif  // LCI_BASE_THREAD_PLACE_H_
