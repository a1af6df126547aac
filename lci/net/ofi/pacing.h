// Whether the kernel paces what leaves through TCP, and what that means for large messages.
#ifndef LCI_NET_OFI_PACING_H_
#define LCI_NET_OFI_PACING_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lci::net::ofi {

// What new connections of this process get ("cubic", "bbr"), unless a route says otherwise. Empty
// if the kernel does not tell.
std::string congestion_control();

// Whether it sends by a clock, at the rate that it believes the way to have, and not whenever there
// is room.
bool is_paced(std::string_view congestion_control);

// Bytes of a large message that are written at once. `attribute`: ofi_piece_size.
//
// BBR takes for the way's rate the highest at which bytes have arrived lately, which is what the
// receiver took while the connection was busy: who always has bytes waiting is slowed by each delay
// of the receiver, for long after it. What arrives while nothing waits behind it only counts if it
// is faster. So messages that leave in pieces, with a moment in between, keep the rate up. Over the
// loopback messages of 1 MiB, several at a time, had 1.5 to 1.7 times the bandwidth with pieces of
// 480 KiB, 1.2 to 1.3 times with 128 to 448 KiB, and no more than before with 512 KiB. Without
// pacing (cubic) pieces only cost: nothing to a fifth.
size_t choose_piece(size_t attribute, std::string_view congestion_control);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PACING_H_
