// Whether the kernel paces TCP connections, and the size of pieces of large messages that follows.
#ifndef LCI_NET_OFI_PACING_H_
#define LCI_NET_OFI_PACING_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lci::net::ofi {

// The congestion control of new connections of this process ("cubic", "bbr"), unless a route sets
// another. Empty if the kernel does not report it.
std::string congestion_control();

// Whether this congestion control sends by a clock at the estimated rate of the path, rather than
// whenever there is room.
bool is_paced(std::string_view congestion_control);

// The bytes of a large message that are written at a time, at most: the runtime makes all pieces of
// a message equally large. `attribute` is ofi_piece_size.
//
// BBR estimates the rate of the path as the highest recent delivery rate, and that is the rate at
// which the receiver read while the connection was busy. So a sender that always has bytes queued
// is slowed by each delay of the receiver, for long after it. A delivery while nothing is queued
// counts only if it is faster. So messages that leave in pieces, with a moment in between, keep the
// estimate high. docs/performance/collectives.md compares sizes of pieces. Without pacing (cubic),
// pieces only cost: between nothing and a third.
size_t choose_piece(size_t attribute, std::string_view congestion_control);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PACING_H_
