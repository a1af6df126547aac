// Tridiagonal systems along z, one for each mode. Each rank has some rows of every system.
//
//   -x[j-1] + d x[j] - x[j+1] = b[j],  j = 0 ... n-1,  x[-1] = x[n] = 0,  d >= 2
//
// by elimination and back substitution. Both are recurrences of first order in j, in which what
// comes from another rank is only added, with a factor that is known beforehand. So each rank goes
// through its rows at once, as if nothing came, and what does come travels from rank to rank by one
// multiplication and addition a mode: up to the next rank behind the elimination, down behind the
// substitution. It is exact, unlike the diagonal dominant one of PowerLLEL (UNR paper, section
// V-B), which neglects some of that: the mode without waves is not dominant.
//
// Rows are planes of modes, whose systems are worked on side by side.
#ifndef EXAMPLES_POISSON_TRIDIAGONAL_H_
#define EXAMPLES_POISSON_TRIDIAGONAL_H_

#include <complex>
#include <cstddef>
#include <vector>

namespace poisson {

class tridiagonal {
 public:
  using complex = std::complex<double>;

  // `diagonal`: d of each mode. This rank has the rows `first` to `end` - 1 of `rows`.
  tridiagonal(const std::vector<double>& diagonal, int rows, int first, int end);

  size_t modes() const { return modes_; }
  int rows() const { return rows_; }
  bool is_bottom() const { return is_bottom_; }
  bool is_top() const { return is_top_; }

  // In place, in this order. j counts the rank's own rows; `plane` has that row, modes() numbers.
  //
  // For each row from 0 on; `before` is the row before, null for row 0.
  void eliminate(int j, complex* plane, const complex* before) const;
  // Not at the top: what the rank above gets; `last` is the last row, `below` what this rank has
  // got from below (null at the bottom).
  void send_up(const complex* last, const complex* below, complex* up) const;
  // For each row from the last down; `after` is the row behind it, null for the last. Into `to`,
  // which may be `plane`.
  void substitute(int j, const complex* plane, const complex* after, const complex* below,
                  complex* to) const;
  // Not at the bottom: what the rank below gets, of row 0 as substitute has left it, and what has
  // come from above (null at the top).
  void send_down(const complex* row0, const complex* above, complex* down) const;
  // Not at the top: for each row, in any order.
  void correct(int j, complex* plane, const complex* above) const;

 private:
  const double* row_of(const std::vector<double>& factors, int j) const {
    return factors.data() + static_cast<size_t>(j) * modes_;
  }

  size_t modes_;
  int rows_;
  bool is_bottom_;
  bool is_top_;
  // [row][mode]: 1 / pivot; and its products from the first row to this one, and from this one to
  // the last: what remains of a number from below or above.
  std::vector<double> inverse_;
  std::vector<double> from_below_;
  std::vector<double> from_above_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_TRIDIAGONAL_H_
