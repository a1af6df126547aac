// The solver: the same for every transport.
//
// -div(k grad u) = f by deferred correction: what the last u leaves of f is the right side of a
// Poisson equation with a mean k, whose solution is added to u. The rest shrinks by the contrast of
// k each time. One iteration of a rank, by slabs of its planes along z:
//
//   up    for each slab: f - A u, transform in x; transpose       (halo of u must be there)
//         for each slab: transform in y, eliminate in z           (transposed slab must be there)
//         plane of the elimination: from the rank below, to the one above
//   down  for each slab: substitute in z, transform back in y; transpose back
//         (the plane from above, and to below, before the slabs are transformed, if z is divided)
//         for each slab: transform back in x, add to u, send the halo of u
//
// Why a message never comes too early (pre-synchronisation, UNR paper, section V-C):
//   transpose         a slab is written to a peer's y_modes after that peer has sent the slab back;
//                     and back to its x_modes, over the numbers that had come from there
//   plane up, down    each follows the answer of that neighbour to the last one
//   halo in y         a neighbour has used its halo before it transposes the slab, and all slabs of
//                     the neighbour have come when the next halo is sent
//   halo in z         it has used it before it sends its plane up, or down; which has come
#ifndef EXAMPLES_POISSON_SOLVER_H_
#define EXAMPLES_POISSON_SOLVER_H_

#include <complex>
#include <memory>
#include <vector>

#include "examples/poisson/decomposition.h"
#include "examples/poisson/patterns.h"
#include "examples/poisson/problem.h"
#include "examples/poisson/times.h"
#include "examples/poisson/transforms.h"
#include "examples/poisson/transport.h"
#include "examples/poisson/tridiagonal.h"

namespace poisson {

class solver {
 public:
  // Collective. All of them outlive it. u is 0.
  solver(const decomposition& part, const problem& given, planning how, transport& network,
         work_clock& clock);

  // Collective; begins with a barrier.
  void run(int iterations);

  // Of this rank: the largest |f - A u|, and the largest difference to the solution that is known.
  double rest();
  double error() const;
  // At point (i, j, l) of the whole grid, which must be one of this rank's.
  double potential(int i, int j, int l) const;

 private:
  using complex = std::complex<double>;
  using exchanges = std::vector<std::unique_ptr<exchange>>;

  void connect();
  void iterate();
  void send_halo(int s);
  // f - A u, times `scale`, of a plane.
  void find_rest(int plane, double scale, double* out) const;
  void forward_x(int s);
  void forward_y(int s);
  void substitute(int s);
  void backward_y(int s);
  void backward_x(int s);
  void pass_up();
  void pass_down();

  double* row(double* array, int plane, int y) const;
  const double* row(const double* array, int plane, int y) const;
  complex* x_plane(int plane) { return x_modes_ + static_cast<size_t>(plane) * shape_.x_plane(); }
  complex* y_plane(int plane) { return y_modes_ + static_cast<size_t>(plane) * shape_.y_plane(); }

  const decomposition part_;
  const problem& given_;
  transport& network_;
  work_clock& clock_;
  const shapes shape_;
  const transforms transforms_;
  std::unique_ptr<tridiagonal> systems_;
  regions in_;
  double* u_ = nullptr;
  complex* x_modes_ = nullptr;
  complex* y_modes_ = nullptr;
  complex* below_ = nullptr;  // null: there is no rank
  complex* above_ = nullptr;
  std::vector<double> k_;           // as u, with what is outside
  std::vector<double> right_side_;  // likewise
  std::vector<complex> carried_;    // first plane of the slab that was substituted last
  std::vector<complex> plane_;      // of real numbers, aligned

  exchanges halo_y_, forward_, backward_;  // of each slab
  std::unique_ptr<exchange> halo_up_, halo_down_;
  // To and from the ranks below and above; null: there is none.
  std::unique_ptr<exchange> from_below_, to_above_, from_above_, to_below_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_SOLVER_H_
