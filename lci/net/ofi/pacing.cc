#include "lci/net/ofi/pacing.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "lci/base/strings.h"

namespace lci::net::ofi {

std::string congestion_control() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return "";
  char name[64] = {};
  socklen_t size = sizeof(name) - 1;
  const int code = getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size);
  close(socket);
  return code == 0 ? std::string(name) : std::string();
}

bool is_paced(std::string_view congestion_control) {
  return base::StartsWith(congestion_control, "bbr");  // bbr, bbr2, bbr3
}

size_t choose_piece(size_t attribute, std::string_view congestion_control) {
  constexpr size_t paced = size_t{192} << 10;
  if (attribute != 0) return attribute;
  return is_paced(congestion_control) ? paced : SIZE_MAX;
}

}  // namespace lci::net::ofi
