#include "lci/base/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "lci/base/strings.h"

namespace lci::base {
namespace {

// An IP address, in the byte order of the network.
struct ip {
  int family = AF_UNSPEC;
  std::array<uint8_t, 16> bytes = {};

  size_t size() const { return family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr); }
  std::string text() const {
    char buffer[INET6_ADDRSTRLEN] = {};
    return inet_ntop(family, bytes.data(), buffer, sizeof(buffer)) == nullptr ? "" : buffer;
  }
};

std::optional<ip> read_ip(const sockaddr& address) {
  ip result;
  result.family = address.sa_family;
  if (address.sa_family == AF_INET) {
    std::memcpy(result.bytes.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr,
                sizeof(in_addr));
  } else if (address.sa_family == AF_INET6) {
    std::memcpy(result.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr,
                sizeof(in6_addr));
  } else {
    return std::nullopt;
  }
  return result;
}

bool is_link_local(const ip& address) {
  if (address.family == AF_INET) return address.bytes[0] == 169 && address.bytes[1] == 254;
  return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

// "10.0.0.0/24" of an address and its netmask. A missing netmask is one of all bits.
std::string network_text(ip address, const sockaddr* netmask) {
  ip mask;
  if (netmask != nullptr) {
    mask = read_ip(*netmask).value_or(mask);
  }
  if (mask.family != address.family) mask.bytes.fill(0xff);
  int bits = 0;
  for (size_t i = 0; i < address.size(); ++i) {
    address.bytes[i] &= mask.bytes[i];
    bits += __builtin_popcount(mask.bytes[i]);
  }
  return StrCat(address.text(), "/", bits);
}

using interface_list = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

// Null: the kernel gives none, or has an error.
interface_list read_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  return {list, freeifaddrs};
}

}  // namespace

std::vector<interface_address> list_interface_addresses() {
  std::vector<interface_address> found;
  const interface_list list = read_interfaces();
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const std::optional<ip> address = read_ip(*entry->ifa_addr);
    if (!address) continue;
    interface_address one;
    one.interface = entry->ifa_name;
    one.address = address->text();
    one.network = network_text(*address, entry->ifa_netmask);
    one.is_v6 = address->family == AF_INET6;
    one.is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    one.is_link_local = is_link_local(*address);
    one.has_carrier = (entry->ifa_flags & IFF_RUNNING) != 0;
    found.push_back(std::move(one));
  }
  return found;
}

std::string address_text(const sockaddr& address) {
  const std::optional<ip> read = read_ip(address);
  return read ? read->text() : "";
}

bool is_loopback(const sockaddr& address) {
  const std::optional<ip> read = read_ip(address);
  if (!read) return false;
  if (read->family == AF_INET) return read->bytes[0] == 127;
  return std::memcmp(read->bytes.data(), &in6addr_loopback, sizeof(in6_addr)) == 0;
}

std::string source_address(const std::string& destination) {
  sockaddr_storage address = {};
  socklen_t size = 0;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  constexpr uint16_t any_port = 9;  // nothing is sent there
  if (inet_pton(AF_INET, destination.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(any_port);
    size = sizeof(v4);
  } else if (inet_pton(AF_INET6, destination.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(any_port);
    size = sizeof(v6);
  } else {
    return "";
  }
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const int fd = socket(generic->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  // A datagram socket that is connected has a source, and has sent nothing.
  const bool has_source =
      connect(fd, generic, size) == 0 && getsockname(fd, generic, &(size = sizeof(address))) == 0;
  close(fd);
  return has_source ? address_text(*generic) : "";
}

bool is_loopback_down() {
  const interface_list list = read_interfaces();
  bool is_listed = false;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_LOOPBACK) == 0) continue;
    if ((entry->ifa_flags & IFF_UP) != 0) return false;
    is_listed = true;
  }
  return is_listed;
}

}  // namespace lci::base
