#include "examples/poisson/solver.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "examples/poisson/vectors.h"

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
std::vector<double> diagonals(const decomposition& part, const problem& input) {
  std::vector<double> made;
  const range modes = part.modes_x();
  for (int y = 0; y < part.grid().y; ++y) {
    for (int x = modes.begin; x < modes.end; ++x) {
      made.push_back(2 + eigenvalue(x, part.grid().x) * square(input.step_z() / input.step_x()) +
                     eigenvalue(y, part.grid().y) * square(input.step_z() / input.step_y()));
    }
  }
  return made;
}

// Prefetches one plane ahead: data that another rank wrote is in no cache of this processor, and
// the transforms do not read it in the order of addresses.
void prefetch(const std::complex<double>* begin, size_t n) {
  constexpr size_t line = 64 / sizeof(*begin);
  for (size_t i = 0; i < n; i += line) __builtin_prefetch(begin + i);
}

bool is_in(range of, int i) { return of.begin <= i && i < of.end; }

int pairs_of(range rows) { return (rows.size() + 1) / 2; }

// The real parts to one row, the imaginary to the other.
POISSON_VECTORS void add_to_both(size_t n, const std::complex<double>* pair,
                                 double* __restrict first, double* __restrict second) {
  const double* const parts = reinterpret_cast<const double*>(pair);
  for (size_t i = 0; i < n; ++i) {
    first[i] += parts[2 * i];
    second[i] += parts[2 * i + 1];
  }
}

}  // namespace

solver::solver(const decomposition& part, const problem& input, planning how, transport& network,
               work_clock& clock)
    : part_(part),
      problem_(input),
      network_(network),
      clock_(clock),
      shape_(part),
      transforms_(part.grid().x, pairs_of(part.y()), part.grid().y, part.modes_x().size(), how),
      k_(shape_.potential_size()),
      right_side_(shape_.potential_size()),
      pairs_(static_cast<size_t>(pairs_of(part.y())) * shape_.potential_row()),
      spare_(static_cast<size_t>(part.modes())) {
  const range y = part.y();
  const range z = part.z();
  for (int l = -1; l <= z.size(); ++l) {
    for (int j = -1; j <= y.size(); ++j) {
      for (int i = 0; i < part.grid().x; ++i) {
        row(k_.data(), l, j)[i] = input.coefficient(i, y.begin + j, z.begin + l);
        row(right_side_.data(), l, j)[i] = input.right_side(i, y.begin + j, z.begin + l);
      }
    }
  }
  const int n = part.grid().z;
  const std::vector<double> diagonal = diagonals(part, input);
  systems_up_ = std::make_shared<tridiagonal>(diagonal, n, z.begin, z.end);
  // All rows are the same in both directions.
  systems_down_ = z.size() == n
                      ? systems_up_
                      : std::make_shared<tridiagonal>(diagonal, n, n - z.end, n - z.begin);
  for (auto& each : substituted_) each.resize(shape_.y_plane());
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
    exchange* const up = links_.emplace_back(made(link_up(part_, in_, link))).get();
    exchange* const down = links_.emplace_back(made(link_down(part_, in_, link))).get();
    if (link == z) {
      above_ = {down, up, numbers(in_.above), numbers(in_.up)};
    } else if (link + 1 == z) {
      below_ = {up, down, numbers(in_.below), numbers(in_.down)};
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

// The iteration.

void solver::run(int iterations) {
  network_.barrier();
  clock_.enter(work::other);
  for (int i = 0; i < part_.slabs(); ++i) send_halo(slab_at(i));
  for (int i = 0; i < iterations; ++i) iterate();
  for (auto& each : halo_y_) each->wait();
  halo_up_->wait();
  halo_down_->wait();
  clock_.enter(work::other);
}

void solver::iterate() {
  const int slabs = part_.slabs();
  for (const neighbor* each : {&below_, &above_}) {
    if (each->from != nullptr) each->from->start();
  }
  for (int i = 0; i < slabs; ++i) {
    const int s = slab_at(i);
    if (s == 0) halo_up_->wait();
    if (s == slabs - 1) halo_down_->wait();
    halo_y_[static_cast<size_t>(s)]->wait();
    forward_x(s);
    forward_[static_cast<size_t>(s)]->start();
  }
  for (int i = 0; i < slabs; ++i) {
    const int s = slab_at(i);
    forward_[static_cast<size_t>(s)]->wait();
    forward_y(s);
  }
  // Where nothing comes from others, a plane is done with when it is substituted.
  if (is_alone()) {
    for (int i = slabs - 1; i >= 0; --i) {
      const int s = slab_at(i);
      substitute_and_backward_y(s);
      backward_[static_cast<size_t>(s)]->start();
    }
  } else {
    pass_elimination();
    for (int i = slabs - 1; i >= 0; --i) substitute(slab_at(i));
    pass_substitution();
    for (int i = slabs - 1; i >= 0; --i) {
      const int s = slab_at(i);
      backward_y(s);
      backward_[static_cast<size_t>(s)]->start();
    }
  }
  for (int i = slabs - 1; i >= 0; --i) {
    const int s = slab_at(i);
    backward_[static_cast<size_t>(s)]->wait();
    backward_x(s);
    send_halo(s);
  }
  for (const neighbor* each : {&below_, &above_}) {
    if (each->to != nullptr) each->to->wait();
  }
  upwards_ = !upwards_;
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

template <class Visit>
void solver::go_along(int s, Visit visit) const {
  const range slab = part_.slab(s);
  const int planes = part_.z().size();
  for (int i = 0; i < slab.size(); ++i) {
    const int plane = upwards_ ? slab.begin + i : slab.end - 1 - i;
    visit(plane, upwards_ ? plane : planes - 1 - plane);
  }
}

template <class Visit>
void solver::go_back(int s, Visit visit) const {
  const range slab = part_.slab(s);
  const int planes = part_.z().size();
  for (int i = 0; i < slab.size(); ++i) {
    const int plane = upwards_ ? slab.end - 1 - i : slab.begin + i;
    visit(plane, upwards_ ? plane : planes - 1 - plane);
  }
}

solver::two_rows solver::modes_of(int place, int plane, int y) {
  const range modes = part_.modes_of(place);
  const auto length = static_cast<size_t>(modes.size());
  complex* first;
  if (place == part_.place_y()) {
    first = y_plane(plane) + static_cast<size_t>(part_.y().begin + y) * length;
  } else {
    first = x_modes_ + shape_.x_block(place) + static_cast<size_t>(plane) * shape_.x_plane(place) +
            static_cast<size_t>(y) * length;
  }
  return {modes, first, y + 1 < part_.y().size() ? first + length : spare_.data() + modes.begin};
}

void solver::forward_x(int s) {
  const double scale = square(problem_.step_z()) / mean_k / part_.grid().x / part_.grid().y;
  const size_t points = shape_.potential_row();
  go_along(s, [&](int l, int /*j*/) {
    clock_.enter(work::stencil);
    complex* pair = pairs_.data();
    for (int y = 0; y < part_.y().size(); y += 2, pair += points) find_rest(l, y, scale, pair);
    clock_.enter(work::fft);
    transforms_.forward_x(pairs_.data());
    for (int place = 0; place < part_.processes().y; ++place) {
      pair = pairs_.data();
      for (int y = 0; y < part_.y().size(); y += 2, pair += points) {
        const two_rows to = modes_of(place, l, y);
        split_modes(pair, part_.grid().x, to.modes.begin, to.modes.end, to.first, to.second);
      }
    }
  });
}

void solver::forward_y(int s) {
  go_along(s, [&](int l, int j) {
    clock_.enter(work::fft);
    if (const int next = l + (upwards_ ? 1 : -1); is_in(part_.slab(s), next)) {
      for (int place = 0; place < part_.processes().y; ++place) {
        if (place == part_.place_y()) continue;
        const range theirs = part_.y_of(place);
        const auto length = static_cast<size_t>(part_.modes_x().size());
        prefetch(y_plane(next) + static_cast<size_t>(theirs.begin) * length,
                 static_cast<size_t>(theirs.size()) * length);
      }
    }
    transforms_.forward_y(y_plane(l));
    clock_.enter(work::tridiagonal);
    systems().eliminate(j, y_plane(l), j == 0 ? nullptr : y_plane_at(j - 1));
  });
}

void solver::pass_elimination() {
  if (behind().from != nullptr) behind().from->wait();
  if (ahead().to == nullptr) return;
  clock_.enter(work::tridiagonal);
  systems().send_up(y_plane_at(systems().rows() - 1), behind().received, ahead().sent);
  ahead().to->start();
}

void solver::substitute(int s) {
  clock_.enter(work::tridiagonal);
  go_back(s, [&](int l, int j) {
    const complex* const after = j + 1 == systems().rows() ? nullptr : y_plane_at(j + 1);
    systems().substitute(j, y_plane(l), after, behind().received, y_plane(l));
  });
}

void solver::pass_substitution() {
  if (ahead().from != nullptr) ahead().from->wait();
  if (behind().to == nullptr) return;
  clock_.enter(work::tridiagonal);
  systems().send_down(y_plane_at(0), ahead().received, behind().sent);
  behind().to->start();
}

void solver::backward_y(int s) {
  go_back(s, [&](int l, int j) {
    if (ahead().received != nullptr) {
      clock_.enter(work::tridiagonal);
      systems().correct(j, y_plane(l), ahead().received);
    }
    clock_.enter(work::fft);
    transforms_.backward_y(y_plane(l));
  });
}

void solver::substitute_and_backward_y(int s) {
  go_back(s, [&](int l, int j) {
    const auto at = [&](int row) { return substituted_[static_cast<size_t>(row) % 2].data(); };
    clock_.enter(work::tridiagonal);
    systems().substitute(j, y_plane(l), j + 1 == systems().rows() ? nullptr : at(j + 1), nullptr,
                         at(j));
    clock_.enter(work::fft);
    transforms_.backward_y(at(j), y_plane(l));
  });
}

void solver::backward_x(int s) {
  const size_t points = shape_.potential_row();
  go_back(s, [&](int l, int /*j*/) {
    clock_.enter(work::fft);
    const int next = l - (upwards_ ? 1 : -1);
    for (int place = 0; place < part_.processes().y; ++place) {
      if (place != part_.place_y() && is_in(part_.slab(s), next)) {
        prefetch(modes_of(place, next, 0).first, shape_.x_plane(place));
      }
      complex* pair = pairs_.data();
      for (int y = 0; y < part_.y().size(); y += 2, pair += points) {
        const two_rows from = modes_of(place, l, y);
        join_modes(from.first, from.second, part_.grid().x, from.modes.begin, from.modes.end, pair);
      }
    }
    transforms_.backward_x(pairs_.data());
    clock_.enter(work::stencil);
    const complex* pair = pairs_.data();
    for (int y = 0; y < part_.y().size(); y += 2, pair += points) {
      double* const first = row(u_, l, y);
      if (y + 1 < part_.y().size()) {
        add_to_both(points, pair, first, first + points);
      } else {
        for (size_t i = 0; i < points; ++i) first[i] += pair[i].real();
      }
    }
  });
}

// The stencil.

namespace {

// Weights of the differences in each direction, and of the right side.
struct weights {
  double x, y, z, right_side;
};

// Two rows of n points, the second one `second` numbers behind the first: at(point, the one to its
// left, to its right), of the first row to the real parts of `out`.
template <class At>
[[gnu::always_inline]] inline void for_both_rows(int n, ptrdiff_t second, double* __restrict out,
                                                 At at) {
  const auto both = [=](ptrdiff_t i, ptrdiff_t left, ptrdiff_t right) {
    out[2 * i] = at(i, left, right);
    out[2 * i + 1] = at(second + i, second + left, second + right);
  };
  both(0, n - 1, 1);
  for (ptrdiff_t i = 1; i + 1 < n; ++i) both(i, i - 1, i + 1);
  both(n - 1, n - 2, 0);
}

// The residual: the part of f that they leave. (Not inlined, and of parameters: only then does gcc
// believe that the output is no other array, and makes vectors.)
POISSON_VECTORS void find_rest_of_rows(int n, ptrdiff_t second, ptrdiff_t rows, ptrdiff_t planes,
                                       const weights& by, const double* __restrict u,
                                       const double* __restrict k,
                                       const double* __restrict right_side,
                                       double* __restrict out) {
  const weights w = by;
  // k between two points is the mean of both; its factor of one half is in the weights.
  const auto flow = [=](ptrdiff_t from, ptrdiff_t to) {
    return (k[from] + k[to]) * (u[to] - u[from]);
  };
  const auto at = [=](ptrdiff_t i, ptrdiff_t left, ptrdiff_t right) {
    return w.right_side * right_side[i] + w.x * (flow(i, left) + flow(i, right)) +
           w.y * (flow(i, i - rows) + flow(i, i + rows)) +
           w.z * (flow(i, i - planes) + flow(i, i + planes));
  };
  for_both_rows(n, second, out, at);
}

// As above, for k = 1 everywhere.
POISSON_VECTORS void find_rest_of_rows(int n, ptrdiff_t second, ptrdiff_t rows, ptrdiff_t planes,
                                       const weights& by, const double* __restrict u,
                                       const double* __restrict right_side,
                                       double* __restrict out) {
  const weights w = by;
  const double own = 4 * (w.x + w.y + w.z);
  const auto at = [=](ptrdiff_t i, ptrdiff_t left, ptrdiff_t right) {
    return w.right_side * right_side[i] - own * u[i] + 2 * w.x * (u[left] + u[right]) +
           2 * w.y * (u[i - rows] + u[i + rows]) + 2 * w.z * (u[i - planes] + u[i + planes]);
  };
  for_both_rows(n, second, out, at);
}

}  // namespace

void solver::find_rest(int plane, int y, double scale, complex* out) const {
  const weights by = {0.5 * scale / square(problem_.step_x()),
                      0.5 * scale / square(problem_.step_y()),
                      0.5 * scale / square(problem_.step_z()), scale};
  const int n = part_.grid().x;
  const auto next_row = static_cast<ptrdiff_t>(shape_.potential_row());
  const auto next_plane = static_cast<ptrdiff_t>(shape_.potential_plane());
  const ptrdiff_t second = y + 1 < part_.y().size() ? next_row : 0;
  const double* const u = row(u_, plane, y);
  const double* const right_side = row(right_side_.data(), plane, y);
  auto* const parts = reinterpret_cast<double*>(out);
  if (problem_.contrast() == 0) {
    find_rest_of_rows(n, second, next_row, next_plane, by, u, right_side, parts);
  } else {
    find_rest_of_rows(n, second, next_row, next_plane, by, u, row(k_.data(), plane, y), right_side,
                      parts);
  }
}

double solver::rest() {
  double largest = 0;
  for (int l = 0; l < part_.z().size(); ++l) {
    for (int y = 0; y < part_.y().size(); y += 2) {
      find_rest(l, y, 1, pairs_.data());
      for (size_t i = 0; i < shape_.potential_row(); ++i) {
        largest = std::max({largest, std::abs(pairs_[i].real()), std::abs(pairs_[i].imag())});
      }
    }
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
        largest = std::max(largest, std::abs(potential(i, j, l) - problem_.solution(i, j, l)));
      }
    }
  }
  return largest;
}

}  // namespace poisson
