#include "tools/launcher/uri.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/files.h"
#include "lci/io/socket.h"
#include "tools/launcher/output.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {
namespace {

constexpr char scheme[] = "lcrun://";

}  // namespace

bool is_address(std::string_view endpoint) {
  return !base::StrContains(endpoint, '/') && base::StrContains(endpoint, ':');
}

std::string format_uri(const job_address& at) {
  std::string text = scheme;
  for (const char c : at.token) {
    if (base::ascii_isalnum(c)) {
      text.push_back(c);
    } else {
      base::StrAppend(&text, "%", base::AsciiStrToUpper(base::StrCat(base::Hex(c, 2))));
    }
  }
  return base::StrCat(text, "@", at.address);
}

base::StatusOr<job_address> parse_uri(std::string_view text) {
  const base::Status error =
      base::InvalidArgumentError("this is no URI as --report-uri writes them");
  text = base::StripAsciiWhitespace(text);
  const size_t end = text.find('@');
  if (!base::ConsumePrefix(&text, scheme) || end == std::string_view::npos) return error;
  const size_t at = text.find('@');
  job_address result;
  const std::string_view token = text.substr(0, at);
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '%') {
      result.token.push_back(token[i]);
      continue;
    }
    if (i + 2 >= token.size()) return error;
    const char* const digits = &token[i + 1];
    uint8_t byte = 0;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return error;
    result.token.push_back(static_cast<char>(byte));
    i += 2;
  }
  result.address = std::string(text.substr(at + 1));
  const base::Status address = io::parse_address(result.address).status();
  if (!address.ok()) return address;
  return result;
}

base::Status write_uri(const std::string& path, const job_address& at) {
  const std::string line = format_uri(at) + "\n";
  if (path == "-") {
    base::write_all(STDOUT_FILENO, line);
    return base::OkStatus();
  }
  if (io::write_private_file(path, line)) return base::OkStatus();
  return base::InvalidArgumentError(
      base::StrCat("--report-uri ", path, ": ", std::strerror(errno)));
}

base::StatusOr<job_address> find_job_address(const launch_options& options) {
  if (is_address(options.endpoint)) {
    const base::StatusOr<std::string> token = token_by_hand();
    if (!token.ok()) return token.status();
    return job_address{options.endpoint, *token};
  }
  const std::optional<std::string> text = io::read_file(options.endpoint);
  if (!text) {
    return base::UnavailableError(base::StrCat(options.endpoint, ": ", std::strerror(errno)));
  }
  base::StatusOr<job_address> at = parse_uri(*text);
  if (at.ok()) return at;
  return base::InvalidArgumentError(base::StrCat(options.endpoint, ": ", at.status().message()));
}

}  // namespace lci::launcher
