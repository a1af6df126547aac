// How reports phrase what several of them name.
#ifndef LCI_OBSERVE_PHRASES_H_
#define LCI_OBSERVE_PHRASES_H_

#include <cstdint>
#include <string>

#include "lci/base/strings.h"
#include "lci/observe/rank_report.h"

namespace lci::observe {

inline std::string since(uint32_t seconds) { return base::StrCat("for ", seconds, " s"); }

inline std::string tag_of(const rank_report::message& m) {
  return m.any_tag ? "any tag" : base::StrCat("tag ", m.tag);
}

inline std::string bytes(uint64_t size) {
  return base::StrCat(size, size == 1 ? " byte" : " bytes");
}

// What the object of the wait has of what the thread waits for, after `before`; empty if the wait is
// for nothing that can be counted.
inline std::string count_of(const rank_report::wait& wait, const char* before) {
  if (wait.threshold != 0) {
    return base::StrCat(before, "the synchronizer has ", wait.signals, " of ", wait.threshold,
                        " signals");
  }
  if (wait.threads_needed != 0) {
    return base::StrCat(before, wait.threads_came, " of the ", wait.threads_needed,
                        " threads of this rank have come");
  }
  return "";
}

// "put of 8 bytes to rank 1 (retry_nomem)"
inline std::string name_of(const rank_report::backlogged& one) {
  return base::StrCat(one.operation, " of ", bytes(one.size), " to rank ", one.peer, " (",
                      one.answer, ")");
}

inline std::string refusals_of(const rank_report::refusals& one) {
  return base::StrCat("posts on device ", one.device, " (the last: ", bytes(one.size), " to rank ",
                      one.peer, " by thread ", one.thread, ", ", one.answer,
                      ") have been refused again and again");
}

}  // namespace lci::observe

#endif  // LCI_OBSERVE_PHRASES_H_
