// lci_info: what the library can do on this host, and how it is configured.
#include <cstdio>
#include <string>
#include <string_view>

#include "lci/api/config.hpp"
#include "tools/info/info.h"

namespace {

constexpr char usage[] =
    "usage: lci_info [options]\n"
    "Shows the backends of this build and what they find on this host, every attribute with its\n"
    "value in this environment, and every environment variable that the library reads.\n\n"
    "  --format text|json|markdown  json: for programs; markdown: only what is the same on every\n"
    "                               host (text)\n"
    "  -V, --version                print the version\n"
    "  -h, --help                   print this\n";

int refuse(const std::string& what) {
  std::fprintf(stderr, "lci_info: %s; lci_info --help lists the options\n", what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string format = "text";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    constexpr std::string_view prefix = "--format=";
    if (argument == "-h" || argument == "--help") return std::fputs(usage, stdout) < 0 ? 1 : 0;
    if (argument == "-V" || argument == "--version") {
      return std::printf("lci_info %s\n", LCI_VERSION_STRING) < 0 ? 1 : 0;
    }
    if (argument == "--format") {
      if (++i == argc) return refuse("--format wants a value");
      format = argv[i];
    } else if (argument.compare(0, prefix.size(), prefix) == 0) {
      format = argument.substr(prefix.size());
    } else {
      return refuse("unknown option " + argument);
    }
  }
  if (format != "text" && format != "json" && format != "markdown") {
    return refuse("--format " + format + ": give text, json or markdown");
  }
  const auto all = lci::info::collect();
  if (!all.ok()) {
    std::fprintf(stderr, "lci_info: %s\n", std::string(all.status().message()).c_str());
    return 1;
  }
  const std::string text = format == "json"   ? as_json(*all)
                           : format == "text" ? as_text(*all)
                                              : lci::info::as_markdown(all->attributes);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}
