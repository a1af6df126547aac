// Atomics for tests of ownerships.
#ifndef LCI_DS_SLOW_BARRIER_H_
#define LCI_DS_SLOW_BARRIER_H_

#include <chrono>

#include "lci/ds/atomics.h"

namespace lci::ds {

// By its own account, the barrier takes 20 us. Between `few_uses` and `many_uses` uses make an
// ownership worthwhile.
struct slow_barrier_atomics : std_atomics {
  static constexpr int few_uses = 1000;
  static constexpr int many_uses = 5000;

  static std::chrono::nanoseconds process_barrier() {
    std_atomics::process_barrier();
    return std::chrono::microseconds(20);
  }
};

}  // namespace lci::ds

#endif  // LCI_DS_SLOW_BARRIER_H_
