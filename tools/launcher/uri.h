// Where an lcrun serves the other hosts, for people and files: --rdzv-endpoint and --report-uri.
#ifndef LCI_TOOLS_LAUNCHER_URI_H_
#define LCI_TOOLS_LAUNCHER_URI_H_

#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

struct meeting_point {
  std::string address;  // host:port
  std::string token;
};

// "lcrun://TOKEN@host:port"; bytes of the token that an URI can't have are written as %XX.
std::string format_uri(const meeting_point& at);
// InvalidArgument if it is none.
base::StatusOr<meeting_point> parse_uri(std::string_view text);

// To a file that only its owner can read, whole or not at all; "-": to standard output.
base::Status write_uri(const std::string& path, const meeting_point& at);

// Whether --rdzv-endpoint is host:port.
bool is_address(std::string_view endpoint);

// For a host that is started by hand: --rdzv-endpoint is a file unless it is host:port, an address
// whose token is LCI_BOOT_TOKEN.
base::StatusOr<meeting_point> find_meeting_point(const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_URI_H_
