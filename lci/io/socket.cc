#include "lci/io/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/interfaces.h"
#include "lci/base/strings.h"

namespace lci::io {
namespace {

constexpr int backlog = 1024;  // the kernel lowers it to net.core.somaxconn

struct address_list_deleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using address_list = std::unique_ptr<addrinfo, address_list_deleter>;

base::StatusOr<address_list> resolve(std::string_view address, int flags) {
  const base::StatusOr<host_port> parsed = parse_address(address);
  if (!parsed.ok()) return parsed.status();
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // Numeric first: a numeric address needs no name service.
  hints.ai_flags = flags | AI_NUMERICHOST | AI_NUMERICSERV;
  int error = ::getaddrinfo(parsed->host.c_str(), parsed->port.c_str(), &hints, &found);
  if (error == EAI_NONAME) {
    hints.ai_flags = flags | AI_NUMERICSERV;
    error = ::getaddrinfo(parsed->host.c_str(), parsed->port.c_str(), &hints, &found);
  }
  if (error != 0) {
    return base::InvalidArgumentError(
        base::StrCat("cannot resolve the host of \"", address, "\": ", ::gai_strerror(error)));
  }
  return address_list(found);
}

// Address as in /proc/net/tcp and tcp6: the address in words of host order, then the port.
std::string table_form(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return base::AsciiStrToUpper(
        base::StrCat(base::Hex(v4.sin_addr.s_addr, 8), ":", base::Hex(ntohs(v4.sin_port), 4)));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::string text;
  for (size_t i = 0; i < 16; i += 4) {
    uint32_t word = 0;
    memcpy(&word, &v6.sin6_addr.s6_addr[i], sizeof word);
    base::StrAppend(&text, base::Hex(word, 8));
  }
  base::StrAppend(&text, ":", base::Hex(ntohs(v6.sin6_port), 4));
  return base::AsciiStrToUpper(text);
}

// If no socket listens on a port within the kernel's ephemeral range, TCP may connect to itself a
// socket that was assigned this very port.
bool connected_to_itself(int fd) {
  sockaddr_storage local = {}, peer = {};
  socklen_t local_size = sizeof local, peer_size = sizeof peer;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         table_form(local) == table_form(peer);
}

base::Status connect_error(int error) {
  // Trying again would not help.
  if (error == EMFILE || error == ENFILE)
    return base::ResourceExhaustedError(base::error_text(error));
  return base::UnavailableError(base::error_text(error));
}

// Whether the host is given by an address, not by a name.
bool is_numeric(const std::string& host) {
  in6_addr address = {};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Whether the address is that of all interfaces, [::].
bool is_any(const sockaddr& v6) {
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(v6).sin6_addr);
}

// Listens on the first address of the list that this machine has. `address` is its text.
base::StatusOr<unique_fd> listen_on_first(const addrinfo& list, std::string_view address) {
  int error = 0;
  for (const addrinfo* entry = &list; entry != nullptr; entry = entry->ai_next) {
    unique_fd fd(::socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (!fd) {
      error = errno;
      continue;
    }
    // Allow a port with lingering connections; a port that another socket listens on stays refused.
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (entry->ai_family == AF_INET6) {
      const int v6_only = is_any(*entry->ai_addr) ? 0 : 1;
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    }
    if (::bind(fd.get(), entry->ai_addr, entry->ai_addrlen) == 0 &&
        ::listen(fd.get(), backlog) == 0) {
      return fd;
    }
    error = errno;
  }
  const std::string text =
      base::StrCat("cannot listen on ", address, ": ", base::error_text(error));
  if (error == EADDRINUSE) return base::AlreadyExistsError(text);
  return base::InvalidArgumentError(text);
}

}  // namespace

base::StatusOr<host_port> parse_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  host_port parsed;
  if (colon != std::string_view::npos) {
    std::string_view host = address.substr(0, colon);
    const bool brackets = base::StartsWith(host, "[") && base::EndsWith(host, "]");
    if (brackets) host = host.substr(1, host.size() - 2);
    // Without brackets, a host with colons is a v6 address whose last part may be mistaken for a
    // port.
    if (brackets || !base::StrContains(host, ':')) parsed.host = std::string(host);
    parsed.port = std::string(address.substr(colon + 1));
  }
  uint32_t port = 0;
  if (parsed.host.empty() || !base::SimpleAtoi(parsed.port, &port) || port > 65535) {
    return base::InvalidArgumentError(
        base::StrCat("\"", address, "\" is not an address; give host:port or [v6 address]:port"));
  }
  return parsed;
}

base::StatusOr<unique_fd> listen_on(std::string_view address) {
  const base::StatusOr<address_list> list = resolve(address, AI_PASSIVE);
  return list.ok() ? listen_on_first(**list, address) : list.status();
}

base::StatusOr<unique_fd> listen_for_others(std::string_view address) {
  const base::StatusOr<host_port> parsed = parse_address(address);
  if (!parsed.ok()) return parsed.status();
  const base::StatusOr<address_list> list = resolve(address, AI_PASSIVE);
  if (!list.ok()) return list.status();
  const bool is_own_name = base::is_loopback(*(*list)->ai_addr) && !is_numeric(parsed->host) &&
                           !base::StrContains(parsed->host, "localhost");
  if (!is_own_name) return listen_on_first(**list, address);
  base::StatusOr<unique_fd> listener = listen_on(base::StrCat("[::]:", parsed->port));
  if (base::IsInvalidArgument(listener.status())) {  // this machine has no IPv6
    listener = listen_on(base::StrCat("0.0.0.0:", parsed->port));
  }
  return listener;
}

base::StatusOr<std::string> local_address(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = {};
  char port[8] = {};
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return base::InternalError(base::StrCat("getsockname: ", base::error_text(errno)));
  }
  const int error = ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host,
                                  port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) return base::InternalError(base::StrCat("getnameinfo: ", gai_strerror(error)));
  if (address.ss_family == AF_INET6) return base::StrCat("[", host, "]:", port);
  return base::StrCat(host, ":", port);
}

base::StatusOr<std::vector<unique_fd>> begin_connecting(std::string_view address) {
  const base::StatusOr<address_list> list = resolve(address, 0);
  if (!list.ok()) return list.status();
  std::vector<unique_fd> begun;
  int error = 0;
  for (const addrinfo* entry = list->get(); entry != nullptr; entry = entry->ai_next) {
    unique_fd fd(::socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd && (::connect(fd.get(), entry->ai_addr, entry->ai_addrlen) == 0 ||
               errno == EINPROGRESS || errno == EINTR)) {
      begun.push_back(std::move(fd));
    } else {
      error = errno;
    }
  }
  if (begun.empty()) return connect_error(error);
  return begun;
}

base::Status connect_result(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && connected_to_itself(fd)) error = ECONNREFUSED;
  if (error != 0) return connect_error(error);
  tune_connection(fd);
  return base::OkStatus();
}

void tune_connection(int fd, std::chrono::milliseconds patience) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  const int ms = static_cast<int>(std::clamp<int64_t>(patience.count(), 1000, 1 << 30));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::clamp(ms / 2000, 1, 32767));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::clamp(ms / 6000, 1, 32767));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, ms);  // limits the keep-alives, too
}

bool is_loopback(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         base::is_loopback(reinterpret_cast<const sockaddr&>(address));
}

std::optional<uid_t> peer_user(int fd) {
  sockaddr_storage local = {}, peer = {};
  socklen_t local_size = sizeof local, peer_size = sizeof peer;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return std::nullopt;
  }
  // The row of the other end has the two addresses exchanged.
  const std::string row_local = table_form(peer);
  const std::string row_remote = table_form(local);
  std::ifstream table(local.ss_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    // slot: local remote state queues timer retransmits uid ...
    const std::vector<std::string_view> fields = base::StrSplit(line, ' ', base::SkipEmpty());
    uid_t user = 0;
    if (fields.size() > 7 && fields[1] == row_local && fields[2] == row_remote &&
        base::SimpleAtoi(fields[7], &user)) {
      return user;
    }
  }
  return std::nullopt;
}

}  // namespace lci::io
