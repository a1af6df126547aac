// Whether this process counts its traffic.
#ifndef LCI_OBSERVE_COUNTING_H_
#define LCI_OBSERVE_COUNTING_H_

#include <atomic>

namespace lci::observe {

// Applies to devices that are made afterward: a device that does not count has nothing on its path
// that could. Thread safety: any thread at any time.
inline std::atomic<bool>& counts_traffic() {
  static std::atomic<bool> counts{false};
  return counts;
}

}  // namespace lci::observe

#endif  // LCI_OBSERVE_COUNTING_H_
