#include "tools/launcher/uri.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lci/boot/socket.h"
#include "tools/launcher/output.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {
namespace {

constexpr char scheme[] = "lcrun://";

}  // namespace

bool is_address(absl::string_view endpoint) {
  return !absl::StrContains(endpoint, '/') && absl::StrContains(endpoint, ':');
}

std::string format_uri(const meeting_point& at) {
  std::string text = scheme;
  for (const char c : at.token) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) {
      text.push_back(c);
    } else {
      absl::StrAppendFormat(&text, "%%%02X", byte);
    }
  }
  return absl::StrCat(text, "@", at.address);
}

absl::StatusOr<meeting_point> parse_uri(absl::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError("this is no URI as --report-uri writes them");
  text = absl::StripAsciiWhitespace(text);
  const size_t end = text.find('@');
  if (!absl::ConsumePrefix(&text, scheme) || end == absl::string_view::npos) return bad;
  const size_t at = text.find('@');
  meeting_point result;
  const absl::string_view token = text.substr(0, at);
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '%') {
      result.token.push_back(token[i]);
      continue;
    }
    if (i + 2 >= token.size() || !absl::ascii_isxdigit(static_cast<unsigned char>(token[i + 1])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(token[i + 2]))) {
      return bad;
    }
    result.token += absl::HexStringToBytes(token.substr(i + 1, 2));
    i += 2;
  }
  result.address = std::string(text.substr(at + 1));
  const absl::Status address = boot::parse_address(result.address).status();
  if (!address.ok()) return address;
  return result;
}

absl::Status write_uri(const std::string& path, const meeting_point& at) {
  const std::string line = format_uri(at) + "\n";
  if (path == "-") {
    write_all(STDOUT_FILENO, line);
    return absl::OkStatus();
  }
  // Those that wait for the file see all of it.
  const std::string fresh = absl::StrCat(path, ".", getpid());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written =
      fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (fd >= 0) written = close(fd) == 0 && written;
  if (written && std::rename(fresh.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  if (fd >= 0) unlink(fresh.c_str());
  return absl::InvalidArgumentError(
      absl::StrCat("--report-uri ", path, ": ", std::strerror(error)));
}

absl::StatusOr<meeting_point> find_meeting_point(const launch_options& options) {
  if (is_address(options.endpoint)) {
    const absl::StatusOr<std::string> token = token_by_hand();
    if (!token.ok()) return token.status();
    return meeting_point{options.endpoint, *token};
  }
  std::ifstream file(options.endpoint);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    return absl::UnavailableError(absl::StrCat(options.endpoint, ": ", std::strerror(errno)));
  }
  absl::StatusOr<meeting_point> at = parse_uri(text.str());
  if (at.ok()) return at;
  return absl::InvalidArgumentError(absl::StrCat(options.endpoint, ": ", at.status().message()));
}

}  // namespace lci::launcher
