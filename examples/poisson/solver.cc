#include "examples/poisson/solver.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace poisson {
namespace {

// Of the Poisson equations: in the middle between the least and the largest k.
constexpr double mean_k = 1;

// Of the second difference -1 2 -1 of the wave number k of n points.
double eigenvalue(int k, int n) {
  constexpr double pi = 3.14159265358979323846;
  const double s = std::sin(pi * k / n);
  return 4 * s * s;
}

double square(double x) { return x * x; }

// The diagonal of the system of each of the rank's modes, in units of 1 / step_z^2.
std::vector<double> diagonals(const decomposition& part, const problem& given) {
  std::vector<double> made;
  const range modes = part.modes_x();
  for (int y = 0; y < part.grid().y; ++y) {
    for (int x = modes.begin; x < modes.end; ++x) {
      made.push_back(2 + eigenvalue(x, part.grid().x) * square(given.step_z() / given.step_x()) +
                     eigenvalue(y, part.grid().y) * square(given.step_z() / given.step_y()));
    }
  }
  return made;
}

}  // namespace

solver::solver(const decomposition& part, const problem& given, planning how, transport& network,
               work_clock& clock)
    : part_(part),
      given_(given),
      network_(network),
      clock_(clock),
      shape_(part),
      transforms_(part.grid().x, part.y().size(), part.grid().y, part.modes_x().size(), how),
      systems_(std::make_unique<tridiagonal>(diagonals(part, given), part.grid().z, part.z().begin,
                                             part.z().end)),
      k_(shape_.potential_size()),
      right_side_(shape_.potential_size()),
      carried_(shape_.y_plane()),
      plane_(static_cast<size_t>(part.y().size()) * shape_.potential_row() / 2) {
  const range y = part.y();
  const range z = part.z();
  for (int l = -1; l <= z.size(); ++l) {
    for (int j = -1; j <= y.size(); ++j) {
      for (int i = 0; i < part.grid().x; ++i) {
        row(k_.data(), l, j)[i] = given.coefficient(i, y.begin + j, z.begin + l);
        row(right_side_.data(), l, j)[i] = given.right_side(i, y.begin + j, z.begin + l);
      }
    }
  }
  connect();
}

void solver::connect() {
  const size_t plane_bytes = shape_.y_plane() * sizeof(complex);
  in_.potential = network_.allocate(shape_.potential_size() * sizeof(double));
  in_.x_modes = network_.allocate(shape_.x_size() * sizeof(complex));
  in_.y_modes = network_.allocate(shape_.y_size() * sizeof(complex));
  for (int* each : {&in_.below, &in_.above, &in_.up, &in_.down}) {
    *each = network_.allocate(plane_bytes);
  }
  const auto numbers = [this](int region) {
    return reinterpret_cast<complex*>(network_.address(region));
  };
  u_ = reinterpret_cast<double*>(network_.address(in_.potential));
  x_modes_ = numbers(in_.x_modes);
  y_modes_ = numbers(in_.y_modes);
  if (!systems_->is_bottom()) below_ = numbers(in_.below);
  if (!systems_->is_top()) above_ = numbers(in_.above);

  const auto made = [this](const pattern& messages) { return network_.connect(messages, clock_); };
  for (int s = 0; s < part_.slabs(); ++s) {
    halo_y_.push_back(made(halo_y(part_, in_, s)));
    forward_.push_back(made(transpose_forward(part_, in_, s)));
    backward_.push_back(made(transpose_backward(part_, in_, s)));
  }
  halo_up_ = made(halo_up(part_, in_));
  halo_down_ = made(halo_down(part_, in_));
  const int z = part_.place_z();
  for (int link = 0; link + 1 < part_.processes().z; ++link) {
    auto up = made(link_up(part_, in_, link));
    auto down = made(link_down(part_, in_, link));
    if (link == z) {
      to_above_ = std::move(up);
      from_above_ = std::move(down);
    } else if (link + 1 == z) {
      from_below_ = std::move(up);
      to_below_ = std::move(down);
    }
  }
}

double* solver::row(double* array, int plane, int y) const {
  return array + static_cast<size_t>(plane + 1) * shape_.potential_plane() +
         static_cast<size_t>(y + 1) * shape_.potential_row();
}

const double* solver::row(const double* array, int plane, int y) const {
  return row(const_cast<double*>(array), plane, y);
}

double solver::potential(int i, int j, int l) const {
  return row(u_, l - part_.z().begin, j - part_.y().begin)[i];
}

// ---- the iteration ------------------------------------------------------------------------------

void solver::run(int iterations) {
  network_.barrier();
  clock_.enter(work::other);
  for (int s = part_.slabs() - 1; s >= 0; --s) send_halo(s);
  for (int i = 0; i < iterations; ++i) iterate();
  for (auto& each : halo_y_) each->wait();
  halo_up_->wait();
  halo_down_->wait();
  clock_.enter(work::other);
}

void solver::iterate() {
  const int slabs = part_.slabs();
  if (from_below_ != nullptr) from_below_->start();
  if (from_above_ != nullptr) from_above_->start();
  for (int s = 0; s < slabs; ++s) {
    if (s == 0) halo_up_->wait();
    if (s == slabs - 1) halo_down_->wait();
    halo_y_[static_cast<size_t>(s)]->wait();
    forward_x(s);
    forward_[static_cast<size_t>(s)]->start();
    clock_.enter(work::pack);
    const both_layouts own = transpose_own(part_, s);
    copy(network_.address(in_.x_modes), own.x, network_.address(in_.y_modes), own.y);
  }
  for (int s = 0; s < slabs; ++s) {
    forward_[static_cast<size_t>(s)]->wait();
    forward_y(s);
  }
  pass_up();
  // Where nothing comes from above, a slab is done with when it is substituted.
  for (int s = slabs - 1; s >= 0; --s) {
    substitute(s);
    if (above_ == nullptr && below_ == nullptr) backward_y(s);
  }
  if (above_ != nullptr || below_ != nullptr) {
    pass_down();
    for (int s = slabs - 1; s >= 0; --s) backward_y(s);
  }
  for (int s = slabs - 1; s >= 0; --s) {
    backward_[static_cast<size_t>(s)]->wait();
    backward_x(s);
    send_halo(s);
  }
  if (to_above_ != nullptr) to_above_->wait();
  if (to_below_ != nullptr) to_below_->wait();
}

void solver::send_halo(int s) {
  if (part_.processes().y == 1) {
    const range slab = part_.slab(s);
    const size_t bytes = shape_.potential_row() * sizeof(double);
    const int last = part_.y().size() - 1;
    for (int l = slab.begin; l < slab.end; ++l) {
      std::memcpy(row(u_, l, -1), row(u_, l, last), bytes);
      std::memcpy(row(u_, l, last + 1), row(u_, l, 0), bytes);
    }
  }
  halo_y_[static_cast<size_t>(s)]->start();
  if (s == part_.slabs() - 1) halo_up_->start();
  if (s == 0) halo_down_->start();
}

void solver::forward_x(int s) {
  const double scale = square(given_.step_z()) / mean_k / part_.grid().x / part_.grid().y;
  auto* const real = reinterpret_cast<double*>(plane_.data());
  const range slab = part_.slab(s);
  for (int l = slab.begin; l < slab.end; ++l) {
    clock_.enter(work::stencil);
    find_rest(l, scale, real);
    clock_.enter(work::fft);
    transforms_.forward_x(real, x_plane(l));
  }
}

void solver::forward_y(int s) {
  const range slab = part_.slab(s);
  for (int l = slab.begin; l < slab.end; ++l) {
    clock_.enter(work::fft);
    transforms_.forward_y(y_plane(l));
    clock_.enter(work::tridiagonal);
    systems_->eliminate(l, y_plane(l), l == 0 ? nullptr : y_plane(l - 1));
  }
}

void solver::pass_up() {
  if (from_below_ != nullptr) from_below_->wait();
  if (to_above_ == nullptr) return;
  clock_.enter(work::tridiagonal);
  systems_->send_up(y_plane(systems_->rows() - 1), below_,
                    reinterpret_cast<complex*>(network_.address(in_.up)));
  to_above_->start();
}

void solver::substitute(int s) {
  clock_.enter(work::tridiagonal);
  const range slab = part_.slab(s);
  for (int l = slab.end - 1; l >= slab.begin; --l) {
    const complex* after = l + 1 == slab.end ? carried_.data() : y_plane(l + 1);
    if (l + 1 == systems_->rows()) after = nullptr;
    systems_->substitute(l, y_plane(l), after, below_);
  }
  std::copy_n(y_plane(slab.begin), carried_.size(), carried_.begin());
}

void solver::pass_down() {
  if (from_above_ != nullptr) from_above_->wait();
  if (to_below_ == nullptr) return;
  clock_.enter(work::tridiagonal);
  systems_->send_down(y_plane(0), above_, reinterpret_cast<complex*>(network_.address(in_.down)));
  to_below_->start();
}

void solver::backward_y(int s) {
  const range slab = part_.slab(s);
  for (int l = slab.end - 1; l >= slab.begin; --l) {
    if (above_ != nullptr) {
      clock_.enter(work::tridiagonal);
      systems_->correct(l, y_plane(l), above_);
    }
    clock_.enter(work::fft);
    transforms_.backward_y(y_plane(l));
  }
  backward_[static_cast<size_t>(s)]->start();
  clock_.enter(work::pack);
  const both_layouts own = transpose_own(part_, s);
  copy(network_.address(in_.y_modes), own.y, network_.address(in_.x_modes), own.x);
}

void solver::backward_x(int s) {
  auto* const real = reinterpret_cast<double*>(plane_.data());
  const size_t points = shape_.potential_row() * static_cast<size_t>(part_.y().size());
  const range slab = part_.slab(s);
  for (int l = slab.end - 1; l >= slab.begin; --l) {
    clock_.enter(work::fft);
    transforms_.backward_x(x_plane(l), real);
    clock_.enter(work::stencil);
    double* const to = row(u_, l, 0);
    for (size_t i = 0; i < points; ++i) to[i] += real[i];
  }
}

// ---- the stencil --------------------------------------------------------------------------------

namespace {

// Weights of the differences in each direction, and of the right side.
struct weights {
  double x, y, z, right_side;
};

// One row of n points. (Not inlined, and of parameters: only then does gcc believe that the output
// is no other array, and makes vectors.)
[[gnu::noinline]] void find_rest_of_row(int n, ptrdiff_t rows, ptrdiff_t planes, const weights& by,
                                        const double* __restrict u, const double* __restrict k,
                                        const double* __restrict right_side,
                                        double* __restrict out) {
  const weights w = by;
  // k between two points is the mean of both, of which the half is in the weights.
  const auto flow = [=](ptrdiff_t from, ptrdiff_t to) {
    return (k[from] + k[to]) * (u[to] - u[from]);
  };
  const auto at = [=](ptrdiff_t i, ptrdiff_t left, ptrdiff_t right) {
    return w.right_side * right_side[i] + w.x * (flow(i, left) + flow(i, right)) +
           w.y * (flow(i, i - rows) + flow(i, i + rows)) +
           w.z * (flow(i, i - planes) + flow(i, i + planes));
  };
  out[0] = at(0, n - 1, 1);
  for (ptrdiff_t i = 1; i + 1 < n; ++i) out[i] = at(i, i - 1, i + 1);
  out[n - 1] = at(n - 1, n - 2, 0);
}

// Likewise, where k is 1 everywhere.
[[gnu::noinline]] void find_rest_of_row(int n, ptrdiff_t rows, ptrdiff_t planes, const weights& by,
                                        const double* __restrict u,
                                        const double* __restrict right_side,
                                        double* __restrict out) {
  const weights w = by;
  const double own = 4 * (w.x + w.y + w.z);
  const auto at = [=](ptrdiff_t i, ptrdiff_t left, ptrdiff_t right) {
    return w.right_side * right_side[i] - own * u[i] + 2 * w.x * (u[left] + u[right]) +
           2 * w.y * (u[i - rows] + u[i + rows]) + 2 * w.z * (u[i - planes] + u[i + planes]);
  };
  out[0] = at(0, n - 1, 1);
  for (ptrdiff_t i = 1; i + 1 < n; ++i) out[i] = at(i, i - 1, i + 1);
  out[n - 1] = at(n - 1, n - 2, 0);
}

}  // namespace

void solver::find_rest(int plane, double scale, double* out) const {
  const weights by = {0.5 * scale / square(given_.step_x()), 0.5 * scale / square(given_.step_y()),
                      0.5 * scale / square(given_.step_z()), scale};
  const int n = part_.grid().x;
  const int rows = part_.y().size();
  const auto next_row = static_cast<ptrdiff_t>(shape_.potential_row());
  const auto next_plane = static_cast<ptrdiff_t>(shape_.potential_plane());
  for (int j = 0; j < rows; ++j, out += n) {
    const double* const u = row(u_, plane, j);
    const double* const right_side = row(right_side_.data(), plane, j);
    if (given_.contrast() == 0) {
      find_rest_of_row(n, next_row, next_plane, by, u, right_side, out);
    } else {
      find_rest_of_row(n, next_row, next_plane, by, u, row(k_.data(), plane, j), right_side, out);
    }
  }
}

double solver::rest() {
  auto* const real = reinterpret_cast<double*>(plane_.data());
  const size_t points = shape_.potential_row() * static_cast<size_t>(part_.y().size());
  double largest = 0;
  for (int l = 0; l < part_.z().size(); ++l) {
    find_rest(l, 1, real);
    for (size_t i = 0; i < points; ++i) largest = std::max(largest, std::abs(real[i]));
  }
  return largest;
}

double solver::error() const {
  const range y = part_.y();
  const range z = part_.z();
  double largest = 0;
  for (int l = z.begin; l < z.end; ++l) {
    for (int j = y.begin; j < y.end; ++j) {
      for (int i = 0; i < part_.grid().x; ++i) {
        largest = std::max(largest, std::abs(potential(i, j, l) - given_.solution(i, j, l)));
      }
    }
  }
  return largest;
}

}  // namespace poisson
