#include "examples/poisson/transforms.h"

#include <fftw3.h>

#include <cstddef>
#include <cstring>
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
  plan_pointer backward_y_to;
};

transforms::transforms(int points_x, int pairs, int points_y, int columns, planning how)
    : plans_(new plans) {
  const unsigned flags = how == planning::estimate ? FFTW_ESTIMATE : FFTW_MEASURE;
  const complex_memory rows = allocate(static_cast<size_t>(points_x) * static_cast<size_t>(pairs));
  const auto plan_x = [&](int sign) {
    return checked(fftw_plan_many_dft(1, &points_x, pairs, rows.get(), nullptr, 1, points_x,
                                      rows.get(), nullptr, 1, points_x, sign, flags));
  };
  plans_->forward_x = plan_x(FFTW_FORWARD);
  plans_->backward_x = plan_x(FFTW_BACKWARD);
  const size_t plane_size = static_cast<size_t>(points_y) * static_cast<size_t>(columns);
  const complex_memory plane = allocate(plane_size);
  const complex_memory other = allocate(plane_size);
  const auto plan_y = [&](const complex_memory& from, int sign) {
    return checked(fftw_plan_many_dft(1, &points_y, columns, from.get(), nullptr, columns, 1,
                                      plane.get(), nullptr, columns, 1, sign, flags));
  };
  plans_->forward_y = plan_y(plane, FFTW_FORWARD);
  plans_->backward_y = plan_y(plane, FFTW_BACKWARD);
  plans_->backward_y_to = plan_y(other, FFTW_BACKWARD);
}

transforms::~transforms() = default;

void transforms::forward_x(complex* plane) const {
  fftw_execute_dft(plans_->forward_x.get(), fftw(plane), fftw(plane));
}

void transforms::backward_x(complex* plane) const {
  fftw_execute_dft(plans_->backward_x.get(), fftw(plane), fftw(plane));
}

void transforms::forward_y(complex* plane) const {
  fftw_execute_dft(plans_->forward_y.get(), fftw(plane), fftw(plane));
}

void transforms::backward_y(complex* plane) const {
  fftw_execute_dft(plans_->backward_y.get(), fftw(plane), fftw(plane));
}

void transforms::backward_y(const complex* from, complex* to) const {
  // FFTW leaves the input of such a plan as it is.
  fftw_execute_dft(plans_->backward_y_to.get(), fftw(const_cast<complex*>(from)), fftw(to));
}

// Two rows in one.
//
// With z = a + ib of two real rows, and conj(a[-k]) = a[k] of their modes:
// z[k] = a[k] + ib[k], conj(z[-k]) = a[k] - ib[k].

namespace {

// A complex number as a vector, since compilers make poor ones of these loops: half goes backwards.
using number = double __attribute__((vector_size(16)));

number load(const transforms::complex* from) {
  number made;
  std::memcpy(&made, from, sizeof(made));
  return made;
}
void store(number value, transforms::complex* to) {
  std::memcpy(reinterpret_cast<double*>(to), &value, sizeof(value));
}

number conjugate(number z) { return z * number{1, -1}; }
number times_i(number z) { return number{z[1], z[0]} * number{-1, 1}; }

}  // namespace

void split_modes(const transforms::complex* pair, int points, int begin, int end,
                 transforms::complex* first, transforms::complex* second) {
  const auto split = [&](ptrdiff_t k, ptrdiff_t opposite) {
    const number z = load(pair + k) * 0.5;
    const number other = conjugate(load(pair + opposite) * 0.5);
    store(z + other, first + (k - begin));
    store(times_i(other - z), second + (k - begin));
  };
  ptrdiff_t k = begin;
  if (k == 0 && k < end) split(k++, 0);
  for (; k < end; ++k) split(k, points - k);
}

void join_modes(const transforms::complex* first, const transforms::complex* second, int points,
                int begin, int end, transforms::complex* pair) {
  // Mode 0 and the last are opposite to themselves.
  const auto join_alone = [&](ptrdiff_t k) {
    store(load(first + (k - begin)) + times_i(load(second + (k - begin))), pair + k);
  };
  ptrdiff_t k = begin;
  ptrdiff_t behind = end;
  if (k == 0 && k < end) join_alone(k++);
  if (k < end && 2 * (end - 1) == points) join_alone(--behind);
  for (; k < behind; ++k) {
    const number a = load(first + (k - begin));
    const number ib = times_i(load(second + (k - begin)));
    store(a + ib, pair + k);
    store(conjugate(a - ib), pair + (points - k));
  }
}

}  // namespace poisson
