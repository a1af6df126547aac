// lci_info: what the library can do on this host, and how it is configured.
#include <cstdio>
#include <string>

#include "lci/api/config.hpp"
#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "tools/cli/cli.h"
#include "tools/info/info.h"
#include "tools/info/job.h"

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
      "value in this environment, and every environment variable that the library reads. Started "
      "as "
      "the ranks of a job, it starts a runtime and shows the hosts, the network and why it was "
      "chosen, and the attributes in which the ranks differ.",
      {{"--format", "FORMAT", "how it is printed", cli::choice(formats, chosen)}}};
  made.version = "lci_info (LCI) " LCI_VERSION_STRING;
  return made;
}

int print(const std::string& text) { return cli::print("lci_info", text); }

int fail(const lci::base::Status& status) {
  std::fprintf(stderr, "lci_info: %s\n", std::string(status.message()).c_str());
  return 1;
}

// Rank 0 of a job shows what its ranks would do, too; the others are silent.
int show(format chosen) {
  const auto own = lci::info::collect();
  if (chosen == format::markdown) {
    return own.ok() ? print(lci::info::as_markdown(own->attributes)) : fail(own.status());
  }
  const auto boot = lci::boot::make_bootstrap();
  if (!boot.ok()) return fail(boot.status());
  if ((*boot)->size() == 1) {
    if (!own.ok()) return fail(own.status());
    return print(chosen == format::text ? as_text(*own) : as_json(*own));
  }
  const auto job = lci::info::collect_job(**boot, own);
  if (!job.ok()) return fail(job.status());
  const int code = job->network.empty() ? 1 : 0;
  if ((*boot)->rank() != 0) return code;
  const int failed = print(chosen == format::text ? as_text(*job) + "\n" + as_text(*own)
                                                  : as_json(*own, as_json(*job)));
  return failed != 0 ? failed : code;
}

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
  return show(chosen);
}
