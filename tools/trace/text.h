// Events in words.
#ifndef LCI_TOOLS_TRACE_TEXT_H_
#define LCI_TOOLS_TRACE_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lci/observe/recording.h"

namespace lci::trace {

// "send to rank 1, tag 7, 8 bytes, number 5".
std::string to_text(const observe::event& what);

// "rank 1 of 3, process 4711 of hello on n1, job 1f2e".
std::string title_of(const observe::recording& of);
// Whether and how the process has ended, as far as this host can tell.
std::string state_of(const observe::recording& of);

// The last `most` events of each thread of each recording, with the time that passed from each to
// the last event of all.
std::string show(const std::vector<observe::recording>& recordings, size_t most);

}  // namespace lci::trace

#endif  // LCI_TOOLS_TRACE_TEXT_H_
