// The loops of the ready-made operators. They are written with the vector extension of gcc and
// clang, since gcc 12 does not vectorize a loop of unknown length at -O2.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lci/api/reduction.hpp"

namespace lci::internal {
namespace {

constexpr size_t vector_bytes = 32;

template <class T>
struct vector_of {
  typedef T type __attribute__((vector_size(vector_bytes)));
};

#define LCI_INLINE [[gnu::always_inline]] static inline

// Each takes numbers or vectors of them. By reference: how vectors are passed depends on the
// instructions that the compiler may use.
struct add {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    *c = static_cast<V>(a + b);
  }
};
struct multiply {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    // Small numbers are multiplied as int, which may overflow.
    if constexpr (std::is_integral_v<V> && sizeof(V) < sizeof(unsigned)) {
      *c = static_cast<V>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    } else {
      *c = static_cast<V>(a * b);
    }
  }
};
struct smaller {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    *c = a < b ? a : b;
  }
};
struct greater {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    *c = a > b ? a : b;
  }
};
struct bits_of_both {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    *c = static_cast<V>(a & b);
  }
};
struct bits_of_any {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    *c = static_cast<V>(a | b);
  }
};
struct bits_of_one {
  template <class V>
  LCI_INLINE void apply(const V& a, const V& b, V* c) {
    *c = static_cast<V>(a ^ b);
  }
};

template <class Op, class T>
LCI_INLINE void combine_all(const void* left, const void* right, void* dst, size_t n) {
  const T* const l = static_cast<const T*>(left);
  const T* const r = static_cast<const T*>(right);
  T* const d = static_cast<T*>(dst);
  size_t i = 0;
  if constexpr (!std::is_same_v<T, long double>) {
    using vector = typename vector_of<T>::type;
    constexpr size_t step = vector_bytes / sizeof(T);
    for (; i + step <= n; i += step) {
      vector a;
      vector b;
      vector c;
      __builtin_memcpy(&a, l + i, vector_bytes);
      __builtin_memcpy(&b, r + i, vector_bytes);
      Op::apply(a, b, &c);
      __builtin_memcpy(d + i, &c, vector_bytes);
    }
  }
  for (; i < n; ++i) Op::apply(l[i], r[i], d + i);
}

using loop = void (*)(const void* left, const void* right, void* dst, size_t n);

template <class Op, class T>
void combine_any(const void* left, const void* right, void* dst, size_t n) {
  combine_all<Op, T>(left, right, dst, n);
}
#if defined(__x86_64__)
template <class Op, class T>
[[gnu::target("avx2")]] void combine_avx2(const void* left, const void* right, void* dst,
                                          size_t n) {
  combine_all<Op, T>(left, right, dst, n);
}
#endif

constexpr int operators = static_cast<int>(operator_kind::bit_xor) + 1;
constexpr int numbers = static_cast<int>(number_kind::extended) + 1;

struct loop_table {
  loop of[operators][numbers];
};

// Sums and products of signed integers are those of unsigned ones, which wrap around.
template <template <class, class> class Loop>
constexpr loop_table make_table() {
#define LCI_OF_INTEGERS(op_)                                                        \
  Loop<op_, uint8_t>::run, Loop<op_, uint8_t>::run, Loop<op_, uint16_t>::run,       \
      Loop<op_, uint16_t>::run, Loop<op_, uint32_t>::run, Loop<op_, uint32_t>::run, \
      Loop<op_, uint64_t>::run, Loop<op_, uint64_t>::run
#define LCI_OF_FRACTIONS(op_) \
  Loop<op_, float>::run, Loop<op_, double>::run, Loop<op_, long double>::run
#define LCI_OF_ORDERED(op_)                                                        \
  Loop<op_, int8_t>::run, Loop<op_, uint8_t>::run, Loop<op_, int16_t>::run,        \
      Loop<op_, uint16_t>::run, Loop<op_, int32_t>::run, Loop<op_, uint32_t>::run, \
      Loop<op_, int64_t>::run, Loop<op_, uint64_t>::run, LCI_OF_FRACTIONS(op_)
  return {{{LCI_OF_INTEGERS(add), LCI_OF_FRACTIONS(add)},
           {LCI_OF_INTEGERS(multiply), LCI_OF_FRACTIONS(multiply)},
           {LCI_OF_ORDERED(smaller)},
           {LCI_OF_ORDERED(greater)},
           {LCI_OF_INTEGERS(bits_of_both), nullptr, nullptr, nullptr},
           {LCI_OF_INTEGERS(bits_of_any), nullptr, nullptr, nullptr},
           {LCI_OF_INTEGERS(bits_of_one), nullptr, nullptr, nullptr}}};
#undef LCI_OF_ORDERED
#undef LCI_OF_FRACTIONS
#undef LCI_OF_INTEGERS
}

template <class Op, class T>
struct any {
  static constexpr loop run = combine_any<Op, T>;
};
constexpr loop_table for_any = make_table<any>();
#if defined(__x86_64__)
template <class Op, class T>
struct avx2 {
  static constexpr loop run = combine_avx2<Op, T>;
};
constexpr loop_table for_avx2 = make_table<avx2>();
#endif

}  // namespace

void combine(operator_kind op, number_kind type, const void* left, const void* right, void* dst,
             size_t n) {
  const loop_table* table = &for_any;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) table = &for_avx2;
#endif
  table->of[static_cast<int>(op)][static_cast<int>(type)](left, right, dst, n);
}

}  // namespace lci::internal
