#include "lci/runtime/core/counter_sums.h"

#include <cstdint>
#include <vector>

namespace lci::rt {
namespace {

void add(traffic_t* to, const traffic_t& more) {
  to->messages += more.messages;
  to->bytes += more.bytes;
}

// In the order of ranks, as both lists are.
void add(std::vector<peer_counters_t>* to, const std::vector<peer_counters_t>& more) {
  auto at = to->begin();
  for (const peer_counters_t& each : more) {
    while (at != to->end() && at->rank < each.rank) ++at;
    if (at == to->end() || at->rank != each.rank) {
      at = to->insert(at, each);
    } else {
      add(&at->sent, each.sent);
      add(&at->received, each.received);
    }
  }
}

struct adder {
  void operator()(const char*, traffic_t& to, const traffic_t& more) const { add(&to, more); }
  void operator()(const char*, uint64_t& to, uint64_t more) const { to += more; }
};

}  // namespace

void add(device_counters_t* to, const device_counters_t& more) {
  visit_both(*to, more, adder{});
  add(&to->peers, more.peers);
}

}  // namespace lci::rt
