/// @file
/// Ready-made operators of reductions.
#ifndef LCI_API_REDUCTION_HPP_
#define LCI_API_REDUCTION_HPP_

#include <cstddef>
#include <type_traits>

#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @cond INTERNAL
namespace internal {

enum class operator_kind : int { sum, prod, min, max, bit_and, bit_or, bit_xor };
enum class number_kind : int { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, extended };

// dst = left op right, `n` numbers each. Thread safety: any thread at any time.
void combine(operator_kind op, number_kind type, const void* left, const void* right, void* dst,
             size_t n);

template <class T>
constexpr number_kind kind_of_number() {
  static_assert(std::is_arithmetic<T>::value,
                "the operators reduce_sum, ... are for arithmetic types; write a reduce_op_t for "
                "others");
  if (std::is_same<T, float>::value) return number_kind::f32;
  if (std::is_same<T, double>::value) return number_kind::f64;
  if (std::is_same<T, long double>::value) return number_kind::extended;
  constexpr bool is_signed = std::is_signed<T>::value;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? number_kind::i8 : number_kind::u8;
    case 2:
      return is_signed ? number_kind::i16 : number_kind::u16;
    case 4:
      return is_signed ? number_kind::i32 : number_kind::u32;
    default:
      return is_signed ? number_kind::i64 : number_kind::u64;
  }
}

// The sum and the maximum of truth values are `or`, the product and the minimum `and`.
template <class T>
constexpr operator_kind kind_of_operator(operator_kind op) {
  if (!std::is_same<T, bool>::value) return op;
  if (op == operator_kind::sum || op == operator_kind::max) return operator_kind::bit_or;
  if (op == operator_kind::prod || op == operator_kind::min) return operator_kind::bit_and;
  return op;
}

template <class T>
void combine_as(operator_kind op, const void* left, const void* right, void* dst, size_t n) {
  combine(kind_of_operator<T>(op), kind_of_number<T>(), left, right, dst, n);
}

}  // namespace internal
/// @endcond

/// @defgroup lci_reductions Operators of reductions
/// Ready-made operators, for the parameter `op` of reduce(), allreduce() and the other reductions:
/// `lci::allreduce(in, out, n, sizeof(double), lci::reduce_sum<double>)`. Each is a function of
/// the type reduce_op_t for items of the arithmetic type T; `item_size` is sizeof(T). The library
/// contains their loops, which use the vector instructions of the processor independently of the
/// compiler flags of the program.
///
/// `left`, `right` and `dst` have `n` items each and the alignment of T; `dst` may be `left` or
/// `right`, and must not overlap them otherwise. Any thread may call them at any time.
/// @{

/// Adds. Integers wrap around; of `bool`, the result is `left || right`.
template <class T>
void reduce_sum(const void* left, const void* right, void* dst, size_t n) {
  internal::combine_as<T>(internal::operator_kind::sum, left, right, dst, n);
}
/// Multiplies. Integers wrap around; of `bool`, the result is `left && right`.
template <class T>
void reduce_prod(const void* left, const void* right, void* dst, size_t n) {
  internal::combine_as<T>(internal::operator_kind::prod, left, right, dst, n);
}
/// Selects the smaller item. If one of two items is not a number (NaN), the result is either.
template <class T>
void reduce_min(const void* left, const void* right, void* dst, size_t n) {
  internal::combine_as<T>(internal::operator_kind::min, left, right, dst, n);
}
/// Selects the greater item. If one of two items is not a number (NaN), the result is either.
template <class T>
void reduce_max(const void* left, const void* right, void* dst, size_t n) {
  internal::combine_as<T>(internal::operator_kind::max, left, right, dst, n);
}
/// Bitwise and, of an integral type.
template <class T>
void reduce_bit_and(const void* left, const void* right, void* dst, size_t n) {
  static_assert(std::is_integral<T>::value, "bitwise operators are for integral types");
  internal::combine_as<T>(internal::operator_kind::bit_and, left, right, dst, n);
}
/// Bitwise or, of an integral type.
template <class T>
void reduce_bit_or(const void* left, const void* right, void* dst, size_t n) {
  static_assert(std::is_integral<T>::value, "bitwise operators are for integral types");
  internal::combine_as<T>(internal::operator_kind::bit_or, left, right, dst, n);
}
/// Bitwise exclusive or, of an integral type.
template <class T>
void reduce_bit_xor(const void* left, const void* right, void* dst, size_t n) {
  static_assert(std::is_integral<T>::value, "bitwise operators are for integral types");
  internal::combine_as<T>(internal::operator_kind::bit_xor, left, right, dst, n);
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_REDUCTION_HPP_
