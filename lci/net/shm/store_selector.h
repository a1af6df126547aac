#ifndef LCI_NET_SHM_STORE_SELECTOR_H_
#define LCI_NET_SHM_STORE_SELECTOR_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "lci/base/copy.h"

namespace lci::net::shm {

// How bytes are copied to memory that another processor has read, and will read again.
enum class store_kind : uint8_t {
  cached,       // this processor fetches each line, which the other one had last
  past_caches,  // non-temporal stores: the lines go to the memory, and none is fetched
};

// Chooses the faster stores for copies to such memory, by measuring both.
//
// Which are faster depends on the processors. Where a line moves quickly between their caches, the
// memory is slower by a factor of two to four; elsewhere it is faster by a factor of two to ten. So
// the selector times the copies of the writer: one in `most_between` with the better stores, and
// another one with the other stores. (Where these take longer, so do the copies of the reader.)
//
// Thread safety: one thread at a time.
class store_selector {
 public:
  // Copies at least 1 byte, as base::copy_bytes() or base::copy_past_caches().
  void copy(void* to, const void* from, size_t size) {
    using clock = std::chrono::steady_clock;
    const choice chosen = next();
    const clock::time_point begin = chosen.timed ? clock::now() : clock::time_point();
    if (chosen.kind == store_kind::past_caches) {
      base::copy_past_caches(to, from, size);
    } else {
      base::copy_bytes(to, from, size);
    }
    if (chosen.timed) took(chosen.kind, size, clock::now() - begin);
  }

  // The two parts of copy(): before a copy, and after one that is `timed`.
  struct choice {
    store_kind kind = store_kind::cached;
    bool timed = false;
  };
  choice next() {
    ++since_trial_;
    if (since_trial_ < between_) return {best_, since_trial_ == between_ / 2};
    since_trial_ = 0;
    between_ = std::min<uint16_t>(2 * between_, most_between);
    return {other(best_), true};
  }

  void took(store_kind kind, size_t size, std::chrono::nanoseconds time) {
    const float now =
        static_cast<float>(std::max<int64_t>(time.count(), 1)) / static_cast<float>(size);
    float& known = cost(kind);
    // A time is never too short. It is too long if the thread loses its processor meanwhile.
    known = known == 0 ? now : std::min(now, 2 * known);
    if (kind == best_ || cost(best_) == 0 || known >= clearly * cost(best_)) return;
    best_ = kind;
    between_ = least_between;
  }

  // Copies from one trial of the other stores to the next: few at first and after a change.
  static constexpr uint16_t least_between = 2;
  static constexpr uint16_t most_between = 64;

 private:
  // The other stores must be so much faster to become the better ones.
  static constexpr float clearly = 0.9F;

  static store_kind other(store_kind kind) {
    return kind == store_kind::cached ? store_kind::past_caches : store_kind::cached;
  }
  float& cost(store_kind kind) { return cost_[static_cast<size_t>(kind)]; }

  std::array<float, 2> cost_ = {};  // ns a byte, by kind; 0: not known
  store_kind best_ = store_kind::cached;
  uint16_t since_trial_ = 0;
  uint16_t between_ = least_between;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_STORE_SELECTOR_H_
