#include "lci/net/shm/lane_count.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "lci/base/strings.h"

namespace lci::net::shm {
namespace {

uint32_t power_of_two_below(uint64_t count) {
  uint32_t power = 1;
  while (power < max_lanes && 2 * power <= count) power *= 2;
  return power;
}

// Threads of one processor have no use for several lanes. Otherwise, more lanes than processors: a
// program may have more threads, and its places also count the threads that do not communicate.
uint32_t lanes_for(uint64_t processors) {
  return processors > 1 ? power_of_two_below(4 * processors) : 1;
}

}  // namespace

void set_processors(mailbox_offer* offer) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) CPU_SET(0, &allowed);
  offer->processors =
      base::Fnv1a(std::string_view(reinterpret_cast<const char*>(&allowed), sizeof(allowed)));
  offer->processor_count = static_cast<uint64_t>(std::max(1, CPU_COUNT(&allowed)));
}

uint32_t most_lanes(const mailbox_offer& offer) {
  return offer.wanted_lanes != 0 ? power_of_two_below(offer.wanted_lanes)
                                 : lanes_for(offer.processor_count);
}

uint32_t choose_lanes(const std::vector<mailbox_offer>& offers) {
  uint32_t lanes = max_lanes;
  for (const mailbox_offer& one : offers) {
    const auto has_same = [&one](const mailbox_offer& other) {
      return other.processors == one.processors;
    };
    const auto sharing = static_cast<uint64_t>(
        std::max<std::ptrdiff_t>(1, std::count_if(offers.begin(), offers.end(), has_same)));
    const uint32_t wanted =
        one.wanted_lanes != 0 ? one.wanted_lanes : lanes_for(one.processor_count / sharing);
    lanes = std::min(lanes, power_of_two_below(std::min(wanted, one.lanes)));
  }
  return lanes;
}

}  // namespace lci::net::shm
