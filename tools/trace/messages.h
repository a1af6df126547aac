// Matches arrivals with messages.
#ifndef LCI_TOOLS_TRACE_MESSAGES_H_
#define LCI_TOOLS_TRACE_MESSAGES_H_

#include <cstddef>
#include <vector>

#include "lci/observe/recording.h"
#include "tools/trace/clocks.h"

namespace lci::trace {

// An event: element `event` of element `thread` of element `recording` of a list.
struct event_place {
  size_t recording = 0;
  size_t thread = 0;
  size_t event = 0;
};

// From a post to the arrival of the message, or of the notification of a put.
struct arrow {
  event_place from;
  event_place to;
};

struct matched_messages {
  std::vector<arrow> arrows;  // no two of them from or to the same event
  // Recorded without their other end: it has not happened, or is no longer in its recording.
  size_t only_sent = 0;
  size_t only_arrived = 0;
};

// Finds the pairs of events with the same message: those between the same ranks, on the same
// device, that both sides have counted as the same one and describe equally (kind, tag, size,
// tickets). Of what is left, because threads posted or polled at the same time and counted in
// another order than the messages traveled in, those that are described equally, in the order of
// their numbers; an arrival is never before its post, as far as the clocks can tell. If equal
// messages are left on both sides nevertheless, they and their neighbors by number are matched anew
// in the order of time.
matched_messages match_messages(const std::vector<observe::recording>& recordings,
                                const std::vector<clock_offset>& offsets);

}  // namespace lci::trace

#endif  // LCI_TOOLS_TRACE_MESSAGES_H_
