#ifndef LCI_NET_FIFO_H_
#define LCI_NET_FIFO_H_

#include <cstddef>

#include "lci/base/cache_aligned.h"

namespace lci::net {

// A queue that allocates memory only to hold more elements than ever before; std::deque allocates
// each time that it reaches the end of a block. Thread safety: that of a plain value.
template <class T>
class fifo {
 public:
  // So many take no more memory.
  void reserve(size_t count) {
    if (count > slots_.size()) grow(count);
  }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  const T& front() const { return slots_[first_]; }
  void push_back(const T& value) {
    if (count_ == slots_.size()) grow(count_ * 2 + 1);
    slots_[slot(count_)] = value;
    ++count_;
  }
  void pop_front() {
    first_ = slot(1);
    --count_;
  }

 private:
  size_t slot(size_t i) const {
    const size_t at = first_ + i;
    return at < slots_.size() ? at : at - slots_.size();
  }
  void grow(size_t count) {
    base::aligned_vector<T> larger(count);
    for (size_t i = 0; i < count_; ++i) larger[i] = slots_[slot(i)];
    slots_.swap(larger);
    first_ = 0;
  }

  base::aligned_vector<T> slots_;
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace lci::net

#endif  // LCI_NET_FIFO_H_
