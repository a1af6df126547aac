#ifndef LCI_BASE_RESERVE_H_
#define LCI_BASE_RESERVE_H_

#include <algorithm>
#include <cstddef>

namespace lci::base {

// Makes room in a vector for `size` elements, so that adding elements up to that number can't fail.
// std::vector::reserve() may make room for exactly that many, so a vector that grows by one element
// at a time would be copied for each of them; this at least doubles the room. Throws
// std::bad_alloc; nothing has changed then.
template <class Vector>
void reserve_room(Vector* vector, size_t size) {
  if (size <= vector->capacity()) return;
  vector->reserve(std::max(size, 2 * vector->capacity()));
}

}  // namespace lci::base

#endif  // LCI_BASE_RESERVE_H_
