// The network interfaces of this host.
#ifndef LCI_BASE_INTERFACES_H_
#define LCI_BASE_INTERFACES_H_

#include <sys/socket.h>

#include <string>
#include <vector>

namespace lci::base {

// One address of an interface. An interface may have several.
struct interface_address {
  std::string interface;  // "eth0"
  std::string address;    // "10.0.0.1" or "2001:db8::1"
  std::string network;    // what the interface reaches without a router: "10.0.0.0/24"
  bool is_v6 = false;
  bool is_loopback = false;
  // 169.254.0.0/16 or fe80::/10: other hosts may use the same address.
  bool is_link_local = false;
  // Whether something is at the other end: a cable, or a guest that runs.
  bool has_carrier = false;
};

// Returns the addresses of all interfaces that are up, in the order of the kernel. Empty: the kernel
// gives none.
std::vector<interface_address> list_interface_addresses();

// "10.0.0.1" or "2001:db8::1", without the port. Empty for addresses of other families.
std::string address_text(const sockaddr& address);

// Whether the address is one of 127.0.0.0/8, or ::1.
bool is_loopback(const sockaddr& address);

// Returns the address of this host from which the kernel sends packets to `destination`, which is
// an address as of address_text(). Empty if there is no route. Sends nothing.
std::string source_address(const std::string& destination);

// Whether the loopback interface is down, so that processes of this host don't reach each other at
// 127.0.0.1. False where the kernel doesn't say: it lists no such interface, or this process has no
// descriptor left to ask with.
bool is_loopback_down();

}  // namespace lci::base

#endif  // LCI_BASE_INTERFACES_H_
