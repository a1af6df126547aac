#include "tools/launcher/addresses.h"

#include <sys/socket.h>

#include "lci/base/interfaces.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/uri.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

base::StatusOr<io::reachable> find_reachable(const std::string& interface) {
  if (interface.empty()) return io::find_reachable();
  std::vector<std::string> names;
  for (const base::interface_address& one : io::list_reachable()) {
    // The first address of an interface. IPv4 is first in the kernel's list.
    if (one.interface == interface || one.address == interface) {
      return io::reachable{io::host_text(one), {io::host_text(one)}};
    }
    names.push_back(base::StrCat(one.interface, " (", one.address, ")"));
  }
  return base::InvalidArgumentError(
      base::StrCat("--iface ", interface, ": no interface that is up has this name or address; ",
                   "there are: ", base::StrJoin(names, ", ")));
}

base::StatusOr<helper_listener> listen_for_helpers(const io::reachable& at,
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
