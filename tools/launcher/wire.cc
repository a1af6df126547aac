#include "tools/launcher/wire.h"

#include <string_view>

#include "lci/base/strings.h"

namespace lci::launcher::wire {

std::string check_preamble(std::string_view bytes) {
  if (!base::StartsWith(bytes, std::string_view(magic, sizeof(magic)))) {
    return "what answers there is not lcrun";
  }
  const auto its_version = static_cast<unsigned>(boot::tcp_wire::load_le(bytes.data() + 4, 2));
  if (its_version != version || boot::tcp_wire::load_le(bytes.data() + 6, 2) != 0) {
    return base::StrCat("the other lcrun speaks version ", its_version,
                        " of the hosts' wire, this one ", version,
                        "; install the same release on all hosts");
  }
  return "";
}

taken take_frame(std::string_view bytes, size_t max_body, kind* which, std::string_view* body) {
  if (bytes.size() < header_size) return taken::incomplete;
  const auto size = static_cast<size_t>(boot::tcp_wire::load_le(bytes.data(), 4));
  if (size > max_body) return taken::too_large;
  if (bytes.size() - header_size < size) return taken::incomplete;
  *which = static_cast<kind>(boot::tcp_wire::load_le(bytes.data() + 4, 1));
  *body = bytes.substr(header_size, size);
  return taken::frame;
}

}  // namespace lci::launcher::wire
