// The Fourier transforms of one plane, by FFTW.
#ifndef EXAMPLES_POISSON_TRANSFORMS_H_
#define EXAMPLES_POISSON_TRANSFORMS_H_

#include <complex>
#include <memory>

namespace poisson {

// How long FFTW looks for the fastest way: `estimate` not at all, and the result is the same in
// every run.
enum class planning { estimate, measure };

// Not normalized: forward and back is a factor of the number of points. Planes begin at multiples
// of 16 bytes.
//
// Along x the numbers are real, and two rows are transformed as one row of complex numbers, which
// is twice as fast as FFTW's transforms of real numbers: the first row is the real part, the second
// one the imaginary. split_modes and join_modes are the other half of it.
class transforms {
 public:
  using complex = std::complex<double>;

  // A plane of `pairs` rows of `points_x` numbers, an even number; and one of `points_y` rows of
  // `columns` numbers.
  transforms(int points_x, int pairs, int points_y, int columns, planning how);
  ~transforms();
  transforms(const transforms&) = delete;
  transforms& operator=(const transforms&) = delete;

  // Each row, in place.
  void forward_x(complex* plane) const;
  void backward_x(complex* plane) const;
  // Each column; the latter in place, or from one plane to another.
  void forward_y(complex* plane) const;
  void backward_y(complex* plane) const;
  void backward_y(const complex* from, complex* to) const;

 private:
  struct plans;
  std::unique_ptr<plans> plans_;
};

// Of a row of `points` complex numbers that forward_x has transformed: modes `begin` to `end` - 1,
// of points / 2 + 1, of the two rows of real numbers it was.
void split_modes(const transforms::complex* pair, int points, int begin, int end,
                 transforms::complex* first, transforms::complex* second);
// The reverse, for backward_x. All modes together make the whole row.
void join_modes(const transforms::complex* first, const transforms::complex* second, int points,
                int begin, int end, transforms::complex* pair);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_TRANSFORMS_H_
