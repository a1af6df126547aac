// The parts of the measured time.
#ifndef EXAMPLES_POISSON_TIMES_H_
#define EXAMPLES_POISSON_TIMES_H_

#include <array>
#include <chrono>
#include <cstddef>

namespace poisson {

enum class work { stencil, fft, tridiagonal, pack, transfer, wait, other };
constexpr size_t kinds_of_work = 7;
constexpr std::array<const char*, kinds_of_work> names_of_work = {
    "stencil", "fft", "tridiagonal", "pack", "transfer", "wait", "other"};

// A clock that always counts for one kind of work. For one thread.
class work_clock {
 public:
  // From now on it counts for `next`; returns for what it did.
  work enter(work next) {
    const clock::time_point now = clock::now();
    spent_[static_cast<size_t>(now_)] += std::chrono::duration<double>(now - since_).count();
    since_ = now;
    const work before = now_;
    now_ = next;
    return before;
  }
  void reset() {
    enter(now_);
    spent_.fill(0);
  }
  // Seconds of each since the last reset.
  const std::array<double, kinds_of_work>& spent() const { return spent_; }

 private:
  using clock = std::chrono::steady_clock;
  work now_ = work::other;
  clock::time_point since_ = clock::now();
  std::array<double, kinds_of_work> spent_{};
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_TIMES_H_
