// The address of an lcrun that serves other hosts, for --rdzv-endpoint and --report-uri.
#ifndef LCI_TOOLS_LAUNCHER_URI_H_
#define LCI_TOOLS_LAUNCHER_URI_H_

#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

struct job_address {
  std::string address;  // host:port
  std::string token;
};

// Returns "lcrun://TOKEN@host:port". Bytes of the token that a URI cannot contain become %XX.
std::string format_uri(const job_address& at);
// Returns InvalidArgument if the text is not such a URI.
base::StatusOr<job_address> parse_uri(std::string_view text);

// Writes the URI to a file that only its owner can read, atomically; "-": to standard output.
base::Status write_uri(const std::string& path, const job_address& at);

// Whether --rdzv-endpoint is host:port.
bool is_address(std::string_view endpoint);

// Returns the address and the token for a host that is started by hand. --rdzv-endpoint is
// host:port, with the token LCI_BOOT_TOKEN, or the file that contains both.
base::StatusOr<job_address> find_job_address(const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_URI_H_
