#ifndef LCI_NET_REGISTRATION_COUNT_H_
#define LCI_NET_REGISTRATION_COUNT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/thread_number.h"

namespace lci::net {

// How many registrations a context has with its network, and how many it may have. Adapters have
// room for so many only, and memory that every device has to reach by itself is registered once a
// device (GASNet domains, section 5.2).
//
// Thread safety: every member by any thread at any time, lock-free. Threads write to different
// lines, if there is no limit.
class registration_count {
 public:
  // most: 0 for no limit.
  explicit registration_count(size_t most) : most_(static_cast<int64_t>(most)) {}

  // Room for `more`, or an error that says how many there are.
  base::Status add(size_t more) {
    const auto wanted = static_cast<int64_t>(more);
    if (most_ == 0) {
      own_part().fetch_add(wanted, std::memory_order_relaxed);
      return base::OkStatus();
    }
    std::atomic<int64_t>& all = parts_[0].count;
    int64_t before = all.load(std::memory_order_relaxed);
    do {
      if (before + wanted > most_) {
        return base::ResourceExhaustedError(base::StrCat(
            wanted, " more registrations with the network are needed, and ", before, " of ", most_,
            " are in use (attribute max_registrations): raise it, deregister memory, or use fewer "
            "devices"));
      }
    } while (!all.compare_exchange_weak(before, before + wanted, std::memory_order_relaxed));
    return base::OkStatus();
  }

  void remove(size_t fewer) {
    (most_ == 0 ? own_part() : parts_[0].count)
        .fetch_sub(static_cast<int64_t>(fewer), std::memory_order_relaxed);
  }

  // Exact while nobody adds or removes any.
  size_t now() const {
    int64_t sum = 0;
    for (const part& each : parts_) sum += each.count.load(std::memory_order_relaxed);
    return static_cast<size_t>(sum);
  }

 private:
  struct alignas(64) part {
    std::atomic<int64_t> count{0};
  };
  std::atomic<int64_t>& own_part() { return parts_[base::thread_number() % parts_.size()].count; }

  const int64_t most_;
  std::array<part, 16> parts_;
};

}  // namespace lci::net

#endif  // LCI_NET_REGISTRATION_COUNT_H_
