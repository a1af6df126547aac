#include "tools/launcher/memory_kills.h"

#include <string>

#include "lci/base/strings.h"
#include "lci/io/files.h"

namespace lci::launcher {

std::optional<uint64_t> count_memory_kills() {
  const std::optional<std::string> text = io::read_file("/proc/vmstat");
  return text ? parse_memory_kills(*text) : std::nullopt;
}

std::optional<uint64_t> parse_memory_kills(std::string_view vmstat) {
  constexpr std::string_view name = "oom_kill ";
  for (const std::string_view line : base::StrSplit(vmstat, '\n')) {
    uint64_t count = 0;
    if (base::StartsWith(line, name) && base::SimpleAtoi(line.substr(name.size()), &count)) {
      return count;
    }
  }
  return std::nullopt;
}

}  // namespace lci::launcher
