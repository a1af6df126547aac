// The Fourier transforms of one plane, by FFTW.
#ifndef EXAMPLES_POISSON_TRANSFORMS_H_
#define EXAMPLES_POISSON_TRANSFORMS_H_

#include <complex>
#include <memory>

namespace poisson {

// How long FFTW looks for the fastest way: `estimate` not at all, and the result is the same in
// every run.
enum class planning { estimate, measure };

// Not normalised: forward and back is a factor of the number of points. Planes begin at multiples
// of 16 bytes.
class transforms {
 public:
  using complex = std::complex<double>;

  // A plane of `rows` rows of `points_x` numbers, an even number; and one of `points_y` rows of
  // `columns` numbers.
  transforms(int points_x, int rows, int points_y, int columns, planning how);
  ~transforms();
  transforms(const transforms&) = delete;
  transforms& operator=(const transforms&) = delete;

  // Each row: points_x real numbers, and their points_x / 2 + 1 modes.
  void forward_x(double* real, complex* modes) const;
  void backward_x(complex* modes, double* real) const;  // overwrites modes
  // Each column, in place.
  void forward_y(complex* plane) const;
  void backward_y(complex* plane) const;

 private:
  struct plans;
  std::unique_ptr<plans> plans_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_TRANSFORMS_H_
