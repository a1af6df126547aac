#ifndef LCI_DS_FAA_QUEUE_H_
#define LCI_DS_FAA_QUEUE_H_

#include <cstddef>

#include "lci/ds/ticket_ring.h"

namespace lci::ds {

// A first-in-first-out queue of values with a fixed length, for any number of producers and
// consumers: one ticket_ring. A full queue refuses; nothing in it is overwritten.
//
// Thread safety: every member by any thread at any time. Lock-free (see ticket_ring.h).
template <class T>
class faa_queue {
 public:
  // Holds at least `length` values (the next power of two). May throw std::bad_alloc.
  explicit faa_queue(size_t length) : ring_(round_up(length), /*closed=*/false) {}

  // False if it is full.
  bool try_push(const T& value) { return ring_.try_push(value) == ticket_ring<T>::push_result::ok; }

  // False if it is empty, or the oldest value is still being pushed.
  bool try_pop(T* out) {
    return ring_.try_pop(out, [] { return true; }) == ticket_ring<T>::pop_result::ok;
  }

  size_t capacity() const { return ring_.capacity(); }

 private:
  static size_t round_up(size_t length) {
    size_t capacity = 2;
    while (capacity < length) capacity *= 2;
    return capacity;
  }

  ticket_ring<T> ring_;
};

}  // namespace lci::ds

#endif  // LCI_DS_FAA_QUEUE_H_
