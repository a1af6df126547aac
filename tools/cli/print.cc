#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/cli/cli.h"

namespace lci::cli {

int print(const char* program, std::string_view text) {
  errno = 0;
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  std::fprintf(stderr, "%s: can't write to the standard output%s\n", program, reason.c_str());
  return 1;
}

}  // namespace lci::cli
