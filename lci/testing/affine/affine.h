// Items for tests of reductions, whose operator shows a wrong order.
#ifndef LCI_TESTING_AFFINE_AFFINE_H_
#define LCI_TESTING_AFFINE_AFFINE_H_

#include <cstddef>
#include <cstdint>
#include <ostream>

namespace lci {

// The function x -> a * x + b. Composition is associative and not commutative.
struct affine {
  uint32_t a;
  uint32_t b;
  friend bool operator==(const affine& l, const affine& r) { return l.a == r.a && l.b == r.b; }
  friend std::ostream& operator<<(std::ostream& to, const affine& f) {
    return to << f.a << "x+" << f.b;
  }
};

// A reduce_op_t: composes `n` functions, the left one first. `dst` may be one of the operands.
inline void compose(const void* left, const void* right, void* dst, size_t n) {
  const auto* l = static_cast<const affine*>(left);
  const auto* r = static_cast<const affine*>(right);
  auto* d = static_cast<affine*>(dst);
  for (size_t i = 0; i < n; ++i) {
    const affine x = l[i];
    const affine y = r[i];
    d[i] = {y.a * x.a, y.a * x.b + y.b};
  }
}

}  // namespace lci

#endif  // LCI_TESTING_AFFINE_AFFINE_H_
