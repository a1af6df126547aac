// The solver: the same for every transport.
//
// -div(k grad u) = f by deferred correction: the residual of the last u is the right side of a
// Poisson equation with a mean k, and the solution of that equation is added to u. The residual
// shrinks by the contrast of k each time. One iteration of a rank, by slabs of its planes along z:
//
//   up    for each slab: f - A u, transform in x; transpose       (halo of u must be there)
//         for each slab: transform in y, eliminate in z           (transposed slab must be there)
//         plane of the elimination: from the rank below, to the one above
//   down  for each slab: substitute in z, transform back in y; transpose back
//         (the plane from above, and to below, before the slabs are transformed, if z is divided)
//         for each slab: transform back in x, add to u, send the halo of u
//
// The next iteration does it upside down, and eliminates downwards: so it begins with the slab
// whose halo was sent first, and at no point needs at once what a peer has just made.
//
// What of a transposed slab stays on the rank is written where it belongs by the transform in x
// itself; what leaves, as one block for each peer.
//
// Why a message never comes too early (pre-synchronization, UNR paper, section V-C):
//   transpose         a slab is written to a peer's y_modes after that peer has sent the slab back;
//                     and back to its x_modes, over the numbers that had come from there
//   plane up, down    each follows the answer of that neighbor to the last one: its other plane,
//                     or its halo in z, which it sends behind the last use of a plane
//   halo in y         a neighbor has used its halo before it transposes the slab, and all slabs of
//                     the neighbor have come when the next halo is sent
//   halo in z         it has used it before it sends its plane up, or down; which has come
#ifndef EXAMPLES_POISSON_SOLVER_H_
#define EXAMPLES_POISSON_SOLVER_H_

#include <array>
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
  solver(const decomposition& part, const problem& input, planning how, transport& network,
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
  // The rank above or below; null: there is none.
  struct neighbor {
    exchange* from = nullptr;
    exchange* to = nullptr;
    complex* received = nullptr;
    complex* sent = nullptr;
  };
  // Modes of two rows that are next to each other in memory.
  struct two_rows {
    range modes;
    complex* first;
    complex* second;
  };

  void connect();
  void iterate();
  void send_halo(int s);
  void forward_x(int s);
  void forward_y(int s);
  void pass_elimination();
  void substitute(int s);
  void pass_substitution();
  void backward_y(int s);
  void substitute_and_backward_y(int s);
  void backward_x(int s);

  // Of rows `y` and y + 1, which are transformed together, the modes of the rank at `place` of the
  // row of ranks, in whichever array they are. The last row may be alone: then the other one is of
  // no use.
  two_rows modes_of(int place, int plane, int y);
  // f - A u, times `scale`: row y is the real part of `out`, row y + 1 the imaginary.
  void find_rest(int plane, int y, double scale, complex* out) const;

  bool is_alone() const { return above_.from == nullptr && below_.from == nullptr; }
  const neighbor& behind() const { return upwards_ ? below_ : above_; }
  const neighbor& ahead() const { return upwards_ ? above_ : below_; }
  const tridiagonal& systems() const { return upwards_ ? *systems_up_ : *systems_down_; }
  // The i-th of the slabs in the direction of the elimination.
  int slab_at(int i) const { return upwards_ ? i : part_.slabs() - 1 - i; }
  // Calls visit(plane, number of the row in systems()) in this direction, or against it.
  template <class Visit>
  void go_along(int s, Visit visit) const;
  template <class Visit>
  void go_back(int s, Visit visit) const;

  double* row(double* array, int plane, int y) const;
  const double* row(const double* array, int plane, int y) const;
  // Of the j-th row of systems().
  complex* y_plane_at(int j) { return y_plane(upwards_ ? j : part_.z().size() - 1 - j); }
  complex* y_plane(int plane) { return y_modes_ + static_cast<size_t>(plane) * shape_.y_plane(); }

  const decomposition part_;
  const problem& problem_;
  transport& network_;
  work_clock& clock_;
  const shapes shape_;
  const transforms transforms_;
  bool upwards_ = true;
  std::shared_ptr<const tridiagonal> systems_up_;
  std::shared_ptr<const tridiagonal> systems_down_;  // of the rows in the reverse order
  regions in_;
  double* u_ = nullptr;
  complex* x_modes_ = nullptr;  // without those of this rank, which are in y_modes_ at once
  complex* y_modes_ = nullptr;
  std::vector<double> k_;                            // as u, with what is outside
  std::vector<double> right_side_;                   // for each point
  std::array<std::vector<complex>, 2> substituted_;  // planes that were substituted last
  std::vector<complex> pairs_;                       // a plane of points, two rows of each
  std::vector<complex> spare_;                       // a row

  exchanges halo_y_, forward_, backward_;  // of each slab
  std::unique_ptr<exchange> halo_up_, halo_down_;
  exchanges links_;  // between all neighbors in z, so that all ranks end them in the same order
  neighbor below_, above_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_SOLVER_H_
