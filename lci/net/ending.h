// How a device ends whose network hands over in its own time what was sent.
#ifndef LCI_NET_ENDING_H_
#define LCI_NET_ENDING_H_

#include <chrono>
#include <cstddef>

#include "lci/base/backoff.h"
#include "lci/net/backend.h"

namespace lci::net {

// Polls until done(), and drops the completions, which have no owner any more. Returns false if
// peers that do not receive their messages have kept it waiting for too long.
template <class Done>
bool drain(device& ending, const Done& done) {
  constexpr std::chrono::seconds patience{60};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  base::backoff backoff;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    completion dropped[8];
    size_t count = 0;
    static_cast<void>(ending.poll(dropped, 8, &count));
    for (size_t i = 0; i < count; ++i) {
      if (dropped[i].kind == completion_kind::recv) ending.release(dropped[i]);
    }
    if (count == 0) backoff.idle();
  }
  return true;
}

}  // namespace lci::net

#endif  // LCI_NET_ENDING_H_
