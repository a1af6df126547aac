// The addresses by which other hosts can reach this one.
#ifndef LCI_IO_REACHABLE_H_
#define LCI_IO_REACHABLE_H_

#include <string>
#include <vector>

#include "lci/base/interfaces.h"
#include "lci/base/status.h"

namespace lci::io {

struct reachable {
  std::string bind;  // the address to listen on, without a port: "0.0.0.0", "[::]", "[fd..]"
  std::vector<std::string> addresses;  // of this host, without a port, best first, at most 16
};

// Returns the addresses of all interfaces that are up, of the loopback only if there is no other.
// IPv4 addresses come before IPv6 ones: a host may have IPv4 for its containers only.
//
// Returns InvalidArgument if no interface is up.
base::StatusOr<reachable> find_reachable();

// Returns the addresses of interfaces that are up, those with a carrier first. Link-local IPv6
// addresses are left out, because their meaning depends on the host.
std::vector<base::interface_address> list_reachable();

// Returns the address as it stands before a port: "10.0.0.1" or "[2001:db8::1]".
std::string host_text(const base::interface_address& one);

}  // namespace lci::io

#endif  // LCI_IO_REACHABLE_H_
