// Every capacity that follows from others, as a sum with a reason for each addend. A capacity that
// a program may choose is an attribute (lci/api/attr.hpp); what is too small is refused when the
// resource is made, not found out under load.
#ifndef LCI_NET_CAPACITY_H_
#define LCI_NET_CAPACITY_H_

#include <algorithm>
#include <cstddef>

#include "lci/base/status.h"

namespace lci::net {

// Queues of a network that has them.

struct queue_lengths {
  size_t sends_of_posts = 0;  // operations that the program may have under way
  // More for those that progress starts: a rendezvous' answer, its data and its end. With room of
  // their own, two ranks whose programs have filled their queues still answer each other.
  size_t sends_of_progress = 0;
  size_t receives = 0;  // posted ahead, each with a packet
  size_t most_completions =
      65536;  // entries that a completion queue may have; at least completions()
  size_t sends() const { return sends_of_posts + sends_of_progress; }
  // One entry for each of the above: a completion queue that overflows is lost for good.
  size_t completions() const { return sends() + receives; }
};

// From a device's attributes net_max_sends, net_max_recvs, net_max_cqes and net_send_reserved_pct.
// An error names the attribute, what it is and what it would have to be.
base::StatusOr<queue_lengths> sum_queues(size_t max_sends, size_t max_receives,
                                         size_t max_completions, double reserved_part);

// The bytes of the ring that one rank writes and another reads:
//   - room for four of the largest messages, so that one that wraps around the end leaves room for
//     the next (ring.h, invariant 3)
//   - beyond that, as many bytes as keep the rings of a rank within 8 MiB of addresses: in a larger
//     ring, a sender runs further ahead of a receiver that is not running. At least 64 KiB, and at
//     most 256 KiB, which the cache still holds.
// Pages take memory only when the ring first reaches them.
inline size_t ring_bytes(size_t largest_message, int ranks) {
  constexpr size_t of_all = size_t{8} << 20;
  constexpr size_t least = size_t{64} << 10;
  constexpr size_t most = size_t{256} << 10;
  return std::max(4 * largest_message,
                  std::clamp(of_all / static_cast<size_t>(ranks), least, most));
}

}  // namespace lci::net

#endif  // LCI_NET_CAPACITY_H_
