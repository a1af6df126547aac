#include "tools/launcher/launch_request.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "lci/base/strings.h"
#include "lci/io/framing.h"

namespace lci::launcher {

wire::launch_request launch_request_of(const launch_options& options, int node) {
  wire::launch_request request;
  request.node = static_cast<uint32_t>(node);
  request.host_timeout_ms = static_cast<uint32_t>(options.host_timeout.count());
  request.start_timeout_ms = static_cast<uint32_t>(options.start_timeout.count());
  return request;
}

base::StatusOr<wire::launch_request> read_launch_request(int fd) {
  using item = io::frame_reader::item;
  io::frame_reader in(wire::protocol);
  while (true) {
    io::frame_header header;
    std::string_view body;
    item found = in.next(wire::max_text_size, &header, &body);
    if (found == item::preamble) found = in.next(wire::max_text_size, &header, &body);
    if (found == item::invalid) {
      return base::InvalidArgumentError(base::StrCat(
          "the bytes on standard input are not a launch request of lcrun: ", in.error().message()));
    }
    if (found == item::frame) {
      wire::launch_request request;
      if (static_cast<wire::kind>(header.kind) == wire::kind::launch_request &&
          wire::decode(body, &request)) {
        return request;
      }
      return base::InvalidArgumentError("the bytes on standard input are not from lcrun");
    }
    char block[512];
    const ssize_t n = read(fd, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return base::InvalidArgumentError(
          "lcrun's launch request does not arrive on standard input; the launch agent must pass it "
          "on");
    }
    in.add(std::string_view(block, static_cast<size_t>(n)));
  }
}

}  // namespace lci::launcher
