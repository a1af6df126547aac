#ifndef LCI_RUNTIME_CORE_ROTATING_SIZE_CLASS_H_
#define LCI_RUNTIME_CORE_ROTATING_SIZE_CLASS_H_

#include <algorithm>
#include <cstddef>

#include "lci/base/sanitizer.h"

namespace lci::rt {

// How much to ask malloc for, for a message of that size: sometimes some words more. malloc of
// glibc keeps the last 7 pieces of each size that a thread has freed, up to a KiB, for that thread;
// what is freed beyond them, and asked for when there are none, costs locked instructions in a
// process of several threads, which take as long as the rest of a small message's way. More than 7
// messages often come at a time, so they take four sizes in turn.
//
// Thread safety: any thread at any time. Wait-free.
inline size_t rotating_size_class(size_t size) {
#ifdef LCI_BASE_ADDRESS_SANITIZER
  return size;  // which sees a program read behind its message
#else
  constexpr size_t step = 16;  // from one of malloc's sizes to the next
  constexpr size_t sizes = 4;
  constexpr size_t smallest = 24;   // of them
  constexpr size_t largest = 1032;  // that it keeps
  if (size > largest - (sizes - 1) * step) return size;
  static thread_local size_t turn = 0;
  return std::max(size, smallest) + turn++ % sizes * step;
#endif
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_ROTATING_SIZE_CLASS_H_
