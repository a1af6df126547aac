#include "examples/poisson/transforms.h"

#include <fftw3.h>

#include <stdexcept>

namespace poisson {
namespace {

struct plan_deleter {
  void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
};
using plan_pointer = std::unique_ptr<fftw_plan_s, plan_deleter>;

struct memory_deleter {
  void operator()(void* memory) const { fftw_free(memory); }
};
using complex_memory = std::unique_ptr<fftw_complex, memory_deleter>;

plan_pointer checked(fftw_plan plan) {
  if (plan == nullptr) throw std::runtime_error("FFTW can't plan a transform");
  return plan_pointer(plan);
}

complex_memory allocate(size_t numbers) {
  complex_memory made(fftw_alloc_complex(numbers));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

fftw_complex* fftw(transforms::complex* numbers) {
  return reinterpret_cast<fftw_complex*>(numbers);
}

}  // namespace

struct transforms::plans {
  plan_pointer forward_x;
  plan_pointer backward_x;
  plan_pointer forward_y;
  plan_pointer backward_y;
};

transforms::transforms(int points_x, int rows, int points_y, int columns, planning how)
    : plans_(new plans) {
  const unsigned flags = how == planning::estimate ? FFTW_ESTIMATE : FFTW_MEASURE;
  const int modes = points_x / 2 + 1;
  {
    const complex_memory spectrum =
        allocate(static_cast<size_t>(modes) * static_cast<size_t>(rows));
    const complex_memory plane = allocate(static_cast<size_t>(modes) * static_cast<size_t>(rows));
    auto* const real = reinterpret_cast<double*>(plane.get());
    plans_->forward_x = checked(fftw_plan_many_dft_r2c(
        1, &points_x, rows, real, nullptr, 1, points_x, spectrum.get(), nullptr, 1, modes, flags));
    plans_->backward_x =
        checked(fftw_plan_many_dft_c2r(1, &points_x, rows, spectrum.get(), nullptr, 1, modes, real,
                                       nullptr, 1, points_x, flags | FFTW_DESTROY_INPUT));
  }
  const complex_memory plane =
      allocate(static_cast<size_t>(points_y) * static_cast<size_t>(columns));
  const auto plan_y = [&](int sign) {
    return checked(fftw_plan_many_dft(1, &points_y, columns, plane.get(), nullptr, columns, 1,
                                      plane.get(), nullptr, columns, 1, sign, flags));
  };
  plans_->forward_y = plan_y(FFTW_FORWARD);
  plans_->backward_y = plan_y(FFTW_BACKWARD);
}

transforms::~transforms() = default;

void transforms::forward_x(double* real, complex* modes) const {
  fftw_execute_dft_r2c(plans_->forward_x.get(), real, fftw(modes));
}

void transforms::backward_x(complex* modes, double* real) const {
  fftw_execute_dft_c2r(plans_->backward_x.get(), fftw(modes), real);
}

void transforms::forward_y(complex* plane) const {
  fftw_execute_dft(plans_->forward_y.get(), fftw(plane), fftw(plane));
}

void transforms::backward_y(complex* plane) const {
  fftw_execute_dft(plans_->backward_y.get(), fftw(plane), fftw(plane));
}

}  // namespace poisson
