#include "tools/launcher/addresses.h"

#include <sys/socket.h>

#include <algorithm>

#include "lci/base/interfaces.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/uri.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

constexpr size_t max_addresses = 16;

// The addresses of interfaces that are up, those with a carrier first. Without IPv6 addresses that
// mean something on this host only.
std::vector<base::interface_address> list_addresses() {
  std::vector<base::interface_address> found = base::list_interface_addresses();
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const auto& one) { return one.is_v6 && one.is_link_local; }),
              found.end());
  std::stable_partition(found.begin(), found.end(),
                        [](const auto& one) { return one.has_carrier; });
  return found;
}

std::string for_url(const base::interface_address& one) {
  return one.is_v6 ? base::StrCat("[", one.address, "]") : one.address;
}

}  // namespace

base::StatusOr<reachable> find_reachable(const std::string& interface) {
  const std::vector<base::interface_address> all = list_addresses();
  reachable result;
  if (!interface.empty()) {
    std::vector<std::string> names;
    for (const base::interface_address& one : all) {
      // The first address of an interface. IPv4 is first in the kernel's list.
      if (one.interface == interface || one.address == interface) {
        return reachable{for_url(one), {for_url(one)}};
      }
      names.push_back(base::StrCat(one.interface, " (", one.address, ")"));
    }
    return base::InvalidArgumentError(
        base::StrCat("--iface ", interface, ": no interface that is up has this name or address; ",
                     "there are: ", base::StrJoin(names, ", ")));
  }
  const bool outside =
      std::any_of(all.begin(), all.end(), [](const auto& one) { return !one.is_loopback; });
  for (const bool v6 : {false, true}) {
    for (const base::interface_address& one : all) {
      if (one.is_v6 != v6 || (outside && one.is_loopback)) continue;
      if (result.addresses.size() == max_addresses) break;
      result.addresses.push_back(for_url(one));
      result.bind = v6 ? "[::]" : "0.0.0.0";
    }
  }
  if (result.addresses.empty()) {
    return base::InvalidArgumentError("no network interface of this machine is up");
  }
  return result;
}

base::StatusOr<helper_listener> listen_for_helpers(const reachable& at,
                                                   const launch_options& options,
                                                   const std::string& token) {
  const bool is_given = is_address(options.endpoint);
  base::StatusOr<io::unique_fd> socket = is_given ? io::listen_for_others(options.endpoint)
                                                  : io::listen_on(base::StrCat(at.bind, ":0"));
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
