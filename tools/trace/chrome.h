#ifndef LCI_TOOLS_TRACE_CHROME_H_
#define LCI_TOOLS_TRACE_CHROME_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lci/observe/recording.h"

namespace lci::trace {

struct chrome_trace {
  std::string json;
  size_t events = 0;
  size_t arrows = 0;
  size_t only_sent = 0;  // as matched_messages
  size_t only_arrived = 0;
};

// The recordings in the Trace Event Format of Chrome, which ui.perfetto.dev and chrome://tracing
// show: a process per rank, a thread per thread, a slice for what takes time (posts, polls that
// found something, handlers) and for each arrival, an instant event for the rest, and a flow arrow
// from the post of each message to its arrival. Times are in microseconds from the first event of
// all. At most one recording per rank.
//
// Source of the format: "Trace Event Format", Google, 2016.
chrome_trace make_chrome_trace(const std::vector<observe::recording>& recordings);

}  // namespace lci::trace

#endif  // LCI_TOOLS_TRACE_CHROME_H_
