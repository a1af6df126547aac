#include "tools/launcher/launch_request.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace lci::launcher {

base::StatusOr<wire::launch_request> read_launch_request(int fd) {
  std::string text;
  while (true) {
    if (text.size() >= wire::preamble_size) {
      const std::string_view bytes = text;
      const std::string error = wire::check_preamble(bytes.substr(0, wire::preamble_size));
      if (!error.empty()) return base::InvalidArgumentError(error);
      wire::kind which{};
      std::string_view body;
      const wire::taken taken =
          wire::take_frame(bytes.substr(wire::preamble_size), wire::max_text_size, &which, &body);
      wire::launch_request request;
      if (taken == wire::taken::frame && which == wire::kind::launch_request &&
          wire::decode(body, &request)) {
        return request;
      }
      if (taken != wire::taken::incomplete) {
        return base::InvalidArgumentError("the bytes on standard input are not from lcrun");
      }
    }
    char block[512];
    const ssize_t n = read(fd, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return base::InvalidArgumentError(
          "lcrun's launch request does not arrive on standard input; the launch agent must pass it "
          "on");
    }
    text.append(block, static_cast<size_t>(n));
  }
}

}  // namespace lci::launcher
