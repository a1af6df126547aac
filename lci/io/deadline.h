// Timeouts as points in time.
#ifndef LCI_IO_DEADLINE_H_
#define LCI_IO_DEADLINE_H_

#include <algorithm>
#include <chrono>

namespace lci::io {

using steady = std::chrono::steady_clock;

// Clamps the timeout to 0 .. one year, so that the sum never overflows.
inline steady::time_point deadline_after(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds year = std::chrono::hours(24 * 365);
  return steady::now() + std::clamp(timeout, std::chrono::milliseconds(0), year);
}

// Time left, for poll(2): rounded up, so that a wait never ends before its deadline; at most
// `at_most` milliseconds.
inline int poll_milliseconds(steady::time_point deadline, int at_most = 1 << 30) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, at_most));
}

}  // namespace lci::io

#endif  // LCI_IO_DEADLINE_H_
