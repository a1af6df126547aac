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

inline std::string signals_of(const rank_report::wait& wait) {
  return base::StrCat("the synchronizer has ", wait.signals, " of ", wait.threshold, " signals");
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
