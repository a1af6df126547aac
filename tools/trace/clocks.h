// The clocks of the hosts of a job, brought together.
#ifndef LCI_TOOLS_TRACE_CLOCKS_H_
#define LCI_TOOLS_TRACE_CLOCKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lci/observe/recording.h"

namespace lci::trace {

constexpr uint64_t unknown_error = UINT64_MAX;

// The difference that is added to the times of a recording, by CLOCK_MONOTONIC of its host, to get
// times by that of the first recording; and its largest possible error.
struct clock_offset {
  int64_t nanoseconds = 0;
  uint64_t error = 0;  // nanoseconds; unknown_error: one of the hosts does not set its clock
};

// One for each recording. Ranks with the same clock have the same offset, without an error between
// them. The clocks of hosts are compared by CLOCK_REALTIME, which the hosts set (NTP, PTP); the
// error is what their kernels estimated when the ranks started.
std::vector<clock_offset> align_clocks(const std::vector<observe::recording>& recordings);

// By the first recording's clock.
inline int64_t aligned(uint64_t time, const clock_offset& offset) {
  return static_cast<int64_t>(time) + offset.nanoseconds;
}

// How far the clocks agree, in a sentence; empty if all ranks have the same.
std::string describe(const std::vector<observe::recording>& recordings,
                     const std::vector<clock_offset>& offsets);

}  // namespace lci::trace

#endif  // LCI_TOOLS_TRACE_CLOCKS_H_
