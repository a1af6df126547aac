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

}  // namespace lci::observe

#endif  // LCI_OBSERVE_PHRASES_H_
