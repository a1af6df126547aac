#include "tools/trace/clocks.h"

#include <algorithm>
#include <map>

#include "lci/base/strings.h"

namespace lci::trace {
namespace {

int64_t realtime_ahead(const observe::recording& of) {
  return static_cast<int64_t>(of.realtime - of.monotonic);
}

uint64_t sum(uint64_t a, uint64_t b) { return a > unknown_error - b ? unknown_error : a + b; }

}  // namespace

std::vector<clock_offset> align_clocks(const std::vector<observe::recording>& recordings) {
  std::vector<clock_offset> offsets;
  std::map<std::string, const observe::recording*> first_of;  // by clock
  for (const observe::recording& each : recordings) {
    const observe::recording& reference = *first_of.emplace(each.clock, &each).first->second;
    const observe::recording& first = recordings.front();
    clock_offset offset;
    if (reference.clock != first.clock) {
      offset.nanoseconds = realtime_ahead(reference) - realtime_ahead(first);
      offset.error = sum(reference.realtime_error, first.realtime_error);
    }
    offsets.push_back(offset);
  }
  return offsets;
}

std::string describe(const std::vector<observe::recording>& recordings,
                     const std::vector<clock_offset>& offsets) {
  std::vector<std::string> clocks;
  uint64_t error = 0;
  for (size_t i = 0; i < recordings.size(); ++i) {
    if (std::find(clocks.begin(), clocks.end(), recordings[i].clock) == clocks.end()) {
      clocks.push_back(recordings[i].clock);
    }
    error = std::max(error, offsets[i].error);
  }
  if (clocks.size() <= 1) return "";
  if (error == unknown_error) {
    return base::StrCat("the clocks of ", clocks.size(),
                        " hosts are compared by their time of day, which at least one of them does "
                        "not synchronize: times of different hosts may be far apart");
  }
  return base::StrCat(
      "the clocks of ", clocks.size(),
      " hosts are compared by their time of day: times of different hosts are right "
      "within ",
      static_cast<double>(error) / 1e6, " ms, as the kernels estimate");
}

}  // namespace lci::trace
