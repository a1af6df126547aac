#include "examples/poisson/problem.h"

#include <cmath>

namespace poisson {
namespace {

constexpr double pi = 3.14159265358979323846;

// The values of f at points -1 to n.
template <class Jet, class Function>
std::vector<Jet> sample(int n, double first, double step, Function f) {
  std::vector<Jet> made;
  for (int i = -1; i <= n; ++i) made.push_back(f(first + step * i));
  return made;
}

}  // namespace

problem::problem(grid_size grid, double contrast) : grid_(grid), contrast_(contrast) {
  const auto wave = [](double w) {
    return [w](double at) -> jet {
      return {std::cos(w * at), -w * std::sin(w * at), -w * w * std::cos(w * at)};
    };
  };
  constexpr double w = 2 * pi;
  x_.wave = sample<jet>(grid.x, 0, step_x(), wave(w));
  y_.wave = sample<jet>(grid.y, 0, step_y(), wave(w));
  z_.wave = sample<jet>(grid.z, step_z(), step_z(), wave(pi));
  x_.solution = sample<jet>(grid.x, 0, step_x(), [](double x) -> jet {
    const double value = std::exp(std::sin(w * x));
    const double slope = std::cos(w * x);
    return {value, w * slope * value, w * w * (slope * slope - std::sin(w * x)) * value};
  });
  y_.solution = sample<jet>(grid.y, 0, step_y(), [](double y) -> jet {
    return {std::cos(w * y) + 0.5 * std::sin(2 * w * y),
            w * (-std::sin(w * y) + std::cos(2 * w * y)),
            w * w * (-std::cos(w * y) - 2 * std::sin(2 * w * y))};
  });
  z_.solution = sample<jet>(grid.z, step_z(), step_z(), [](double z) -> jet {
    const double e = std::exp(z);
    return {z * (1 - z) * e, (1 - z - z * z) * e, (-3 * z - z * z) * e};
  });
}

double problem::coefficient(int i, int j, int l) const {
  return 1 + contrast_ * at(x_.wave, i).value * at(y_.wave, j).value * at(z_.wave, l).value;
}

double problem::solution(int i, int j, int l) const {
  return at(x_.solution, i).value * at(y_.solution, j).value * at(z_.solution, l).value;
}

double problem::right_side(int i, int j, int l) const {
  const jet& x = at(x_.solution, i);
  const jet& y = at(y_.solution, j);
  const jet& z = at(z_.solution, l);
  const jet& kx = at(x_.wave, i);
  const jet& ky = at(y_.wave, j);
  const jet& kz = at(z_.wave, l);
  const double laplacian =
      x.second * y.value * z.value + x.value * y.second * z.value + x.value * y.value * z.second;
  const double slopes = kx.first * ky.value * kz.value * x.first * y.value * z.value +
                        kx.value * ky.first * kz.value * x.value * y.first * z.value +
                        kx.value * ky.value * kz.first * x.value * y.value * z.first;
  return -(1 + contrast_ * kx.value * ky.value * kz.value) * laplacian - contrast_ * slopes;
}

}  // namespace poisson
