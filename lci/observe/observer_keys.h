// How a job is asked what it waits for: by keys of the bootstrap's store.
#ifndef LCI_OBSERVE_OBSERVER_KEYS_H_
#define LCI_OBSERVE_OBSERVER_KEYS_H_

#include <string>

#include "lci/base/strings.h"

namespace lci::observe {

// The key of a query, which a rank or the launcher puts; its value says why. All ranks watch for
// it, and put their reports (rank_report.h) as answers. Queries are numbered from 0.
inline std::string query_key(int query) { return base::StrCat("observe/", query); }
inline std::string answer_key(int query, int rank) {
  return base::StrCat("observe/", query, "/", rank);
}

}  // namespace lci::observe

#endif  // LCI_OBSERVE_OBSERVER_KEYS_H_
