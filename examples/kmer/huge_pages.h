// Memory for large tables that are accessed at random: on huge pages if the system has them, since
// otherwise nearly every access also misses the translation buffer; and fetched before it is used.
#ifndef EXAMPLES_KMER_HUGE_PAGES_H_
#define EXAMPLES_KMER_HUGE_PAGES_H_

#include <cstddef>

namespace kmer {

// Zeroed memory, aligned to 2 MiB if it is as large. Throws std::bad_alloc.
void* huge_allocate(size_t bytes);
// `bytes` as it was allocated.
void huge_free(void* memory, size_t bytes) noexcept;

// Begins to fetch the cache line of `address`, which need not be valid, for writing.
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 1);
  // GCC 12 takes a function that only prefetches for one without effects, and drops calls of it.
  asm volatile("" : : "r"(address));
}

// A fixed number of zeroed objects of a type for which zero bytes are a value.
template <class T>
class huge_array {
 public:
  explicit huge_array(size_t count)
      : count_(count), data_(static_cast<T*>(huge_allocate(count * sizeof(T)))) {}
  ~huge_array() { huge_free(data_, count_ * sizeof(T)); }
  huge_array(const huge_array&) = delete;
  huge_array& operator=(const huge_array&) = delete;

  size_t count() const { return count_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  size_t count_;
  T* data_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_HUGE_PAGES_H_
