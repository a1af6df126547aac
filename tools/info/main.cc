// lci_info: what the library can do on this host, and how it is configured.
#include <cstdio>
#include <string>

#include "lci/api/config.hpp"
#include "tools/cli/cli.h"
#include "tools/info/info.h"

namespace {

namespace cli = lci::cli;

enum class format { text, json, markdown };
constexpr cli::word<format> formats[] = {
    {"text", format::text, "for people"},
    {"json", format::json, "for programs"},
    {"markdown", format::markdown, "only what is the same on every host"}};

cli::command command_of(format* chosen) {
  cli::command made = {
      "lci_info [options]",
      "Shows the backends of this build and what they find on this host, every attribute with its "
      "value in this environment, and every environment variable that the library reads.",
      {{"--format", "FORMAT", "how it is printed", cli::choice(formats, chosen)}}};
  made.version = "lci_info " LCI_VERSION_STRING;
  return made;
}

int print(const std::string& text) { return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0; }

}  // namespace

int main(int argc, char** argv) {
  format chosen = format::text;
  const cli::command command = command_of(&chosen);
  try {
    switch (cli::parse(command, argc, argv).wanted) {
      case cli::request::help:
        return print(cli::help(command));
      case cli::request::version:
        return print(command.version + "\n");
      case cli::request::run:
        break;
    }
  } catch (const cli::usage_error& error) {
    std::fprintf(stderr, "lci_info: %s\n", error.what());
    return 2;
  }
  const auto all = lci::info::collect();
  if (!all.ok()) {
    std::fprintf(stderr, "lci_info: %s\n", std::string(all.status().message()).c_str());
    return 1;
  }
  switch (chosen) {
    case format::text:
      return print(as_text(*all));
    case format::json:
      return print(as_json(*all));
    case format::markdown:
      return print(lci::info::as_markdown(all->attributes));
  }
}
