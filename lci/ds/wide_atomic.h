// Two words that are compared and exchanged together, if the processor can do that.
#ifndef LCI_DS_WIDE_ATOMIC_H_
#define LCI_DS_WIDE_ATOMIC_H_

#include <atomic>
#include <cstdint>

// Defined if ds::wide_atomic exists. Every x86-64 processor since 2006 has the instruction;
// elsewhere, and with LCI_DS_NO_WIDE_ATOMIC defined, structures use one word.
#if defined(__x86_64__) && !defined(LCI_DS_NO_WIDE_ATOMIC)
#define LCI_DS_HAS_WIDE_ATOMIC 1
#endif

#ifdef LCI_DS_HAS_WIDE_ATOMIC

#include "lci/base/sanitizer.h"
#ifdef LCI_BASE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace lci::ds {

// Thread safety: any thread at any time; every method is wait-free.
//
// The instruction is written in assembly, as the compilers' built-ins need either a flag in every
// file that includes this header or libatomic, which may take a lock.
class alignas(16) wide_atomic {
 public:
  wide_atomic() = default;
  wide_atomic(const wide_atomic&) = delete;
  wide_atomic& operator=(const wide_atomic&) = delete;

  // Loads one word: the two may be of different moments.
  uint64_t load_first(std::memory_order order) const { return first_.load(order); }
  uint64_t load_second(std::memory_order order) const { return second_.load(order); }

  // Only while no other thread compares and exchanges.
  void store_first(uint64_t value, std::memory_order order) { first_.store(value, order); }
  void store_second(uint64_t value, std::memory_order order) { second_.store(value, order); }

  // Returns whether both words were as expected; then both are now as desired. Sequentially
  // consistent.
  bool compare_exchange(uint64_t expected_first, uint64_t expected_second, uint64_t desired_first,
                        uint64_t desired_second) {
#ifdef LCI_BASE_THREAD_SANITIZER
    __tsan_release(this);  // the sanitizer does not see through the assembly
#endif
    bool exchanged;
    asm volatile("lock cmpxchg16b %[words]"
                 : "=@ccz"(exchanged), [words] "+m"(*this), "+a"(expected_first),
                   "+d"(expected_second)
                 : "b"(desired_first), "c"(desired_second)
                 : "memory");
#ifdef LCI_BASE_THREAD_SANITIZER
    if (exchanged) __tsan_acquire(this);
#endif
    return exchanged;
  }

 private:
  std::atomic<uint64_t> first_{0};
  std::atomic<uint64_t> second_{0};
};
static_assert(sizeof(wide_atomic) == 16);

}  // namespace lci::ds

#endif  // LCI_DS_HAS_WIDE_ATOMIC

#endif  // LCI_DS_WIDE_ATOMIC_H_
