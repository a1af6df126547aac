#ifndef LCI_NET_MIXED_NAMES_H_
#define LCI_NET_MIXED_NAMES_H_

#include <cstdint>

#include "lci/net/op.h"

namespace lci::net::mixed {

// How the names that two networks have for one piece of memory are one. Both count what they have
// registered from 0 on, or name it by an address: what is left of 64 bits holds the other's.
//
// A key is equal for both networks, so that it need not travel twice: the near one takes
// that of the far one. That has none that is 0 (which means "none" to the near one) but where the
// provider chooses; so it is one more.
constexpr int near_shift = 48;
constexpr uint64_t near_bases = uint64_t{1} << (64 - near_shift);
constexpr uint64_t far_base_mask = (uint64_t{1} << near_shift) - 1;
constexpr uint64_t near_key(uint64_t far_key) { return far_key + 1 == 0 ? 1 : far_key + 1; }

constexpr local_region join(local_region near, local_region far) {
  return {near.handle << 32 | far.handle};
}
constexpr local_region near_of(local_region both) { return {both.handle >> 32}; }
constexpr local_region far_of(local_region both) { return {both.handle & UINT32_MAX}; }

// `far` must leave room for the other: see has_room.
constexpr bool has_room(remote_region far) { return far.base <= far_base_mask; }
constexpr remote_region join(remote_region near, remote_region far) {
  return {near.base << near_shift | far.base, far.key};
}
constexpr remote_region near_of(remote_region both) {
  return {both.base >> near_shift, near_key(both.key)};
}
constexpr remote_region far_of(remote_region both) { return {both.base & far_base_mask, both.key}; }

}  // namespace lci::net::mixed

#endif  // LCI_NET_MIXED_NAMES_H_
