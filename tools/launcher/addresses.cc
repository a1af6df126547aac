#include "tools/launcher/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/uri.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

constexpr size_t max_addresses = 16;

struct interface_address {
  std::string interface;
  std::string text;  // without brackets
  bool v6 = false;
  bool loopback = false;
};

// The addresses of interfaces that are up.
std::vector<interface_address> list_addresses() {
  std::vector<interface_address> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    interface_address address;
    char text[INET6_ADDRSTRLEN] = {};
    if (entry->ifa_addr->sa_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
      inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) continue;
      inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
      address.v6 = true;
    } else {
      continue;
    }
    address.interface = entry->ifa_name;
    address.text = text;
    address.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    found.push_back(address);
  }
  return found;
}

std::string for_url(const interface_address& address) {
  return address.v6 ? base::StrCat("[", address.text, "]") : address.text;
}

}  // namespace

base::StatusOr<reachable> find_reachable(const std::string& interface) {
  std::vector<interface_address> all = list_addresses();
  reachable result;
  if (!interface.empty()) {
    std::vector<std::string> names;
    for (const interface_address& address : all) {
      // The first address of an interface. IPv4 is first in the kernel's list.
      if (address.interface == interface || address.text == interface) {
        return reachable{for_url(address), {for_url(address)}};
      }
      names.push_back(base::StrCat(address.interface, " (", address.text, ")"));
    }
    return base::InvalidArgumentError(
        base::StrCat("--iface ", interface, ": no interface that is up has this name or address; ",
                     "there are: ", base::StrJoin(names, ", ")));
  }
  const bool outside =
      std::any_of(all.begin(), all.end(), [](const auto& a) { return !a.loopback; });
  const auto usable = [&](const interface_address& a) { return !outside || !a.loopback; };
  const bool v4 =
      std::any_of(all.begin(), all.end(), [&](const auto& a) { return usable(a) && !a.v6; });
  for (const interface_address& address : all) {
    if (!usable(address) || address.v6 == v4 || result.addresses.size() == max_addresses) continue;
    result.addresses.push_back(for_url(address));
  }
  if (result.addresses.empty()) {
    return base::InvalidArgumentError("no network interface of this machine is up");
  }
  result.bind = v4 ? "0.0.0.0" : "[::]";
  return result;
}

base::StatusOr<helper_listener> listen_for_helpers(const reachable& at,
                                                   const launch_options& options,
                                                   const std::string& token) {
  const bool is_given = is_address(options.endpoint);
  base::StatusOr<io::unique_fd> socket =
      io::listen_on(is_given ? options.endpoint : base::StrCat(at.bind, ":0"));
  if (!socket.ok()) return socket.status();
  // The receive buffer holds all that a host may send before it waits for an answer.
  const int size = 4 * wire::window;
  setsockopt(socket->get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  const base::StatusOr<std::string> local = io::local_address(socket->get());
  if (!local.ok()) return local.status();
  const std::string port = local->substr(local->rfind(':'));
  helper_listener listener;
  if (is_given) {
    const std::string host = options.endpoint.substr(0, options.endpoint.rfind(':'));
    listener.addresses = {base::StrCat(host, port)};
  } else {
    for (const std::string& address : at.addresses) {
      listener.addresses.push_back(base::StrCat(address, port));
    }
  }
  if (!options.report_uri.empty()) {
    const base::Status s = write_uri(options.report_uri, {listener.addresses[0], token});
    if (!s.ok()) return s;
  }
  listener.socket = *std::move(socket);
  return listener;
}

}  // namespace lci::launcher
