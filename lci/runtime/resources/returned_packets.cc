#include "lci/runtime/resources/returned_packets.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lci/runtime/core/throw.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {

void returned_packets::add(packet* one, size_t bytes) {
  std::vector<packet*> released;
  {
    const observe::call_stack here = observe::call_stack::here();
    const std::lock_guard<std::mutex> guard(mutex_);
    if (one->magic_ == packet::returned) {
      const auto before = std::find_if(entries_.begin(), entries_.end(),
                                       [one](const entry& each) { return each.returned == one; });
      const std::string place = before == entries_.end() ? "" : before->stack.caller();
      throw_invalid_argument("put_upacket: this packet has been returned before",
                             place.empty() ? "" : ", at ", place);
    }
    one->magic_ = packet::returned;
    entries_.push_back({one, bytes, here});
    bytes_ += bytes;
    size_.fetch_add(1, std::memory_order_relaxed);
    while (entries_.size() > most || (bytes_ > most_bytes_ && entries_.size() > 1)) {
      released.push_back(take_oldest_locked());
    }
  }
  for (packet* const each : released) each->put();
}

packet* returned_packets::take_oldest() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return entries_.empty() ? nullptr : take_oldest_locked();
}

packet* returned_packets::take_oldest_locked() {
  const entry oldest = entries_.front();
  entries_.pop_front();
  bytes_ -= oldest.bytes;
  size_.fetch_sub(1, std::memory_order_relaxed);
  oldest.returned->magic_ = packet::watched;
  return oldest.returned;
}

}  // namespace lci::rt
