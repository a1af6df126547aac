// lcrun: starts the ranks of a job, on this machine and others.
#include <unistd.h>

#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "tools/cli/cli.h"
#include "tools/launcher/helper.h"
#include "tools/launcher/job.h"
#include "tools/launcher/options.h"
#include "tools/launcher/output.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/report_client.h"
#include "tools/launcher/uri.h"

namespace {

constexpr int usage_exit_code = 2;

int refuse(const lci::base::Status& status, int code) {
  lci::launcher::say(status.message());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lci::launcher;  // NOLINT: this file is its main
  lci::base::open_standard_streams();
  if (argc == 2 && argv[1] == std::string_view(helper_argument)) return run_helper();
  const lci::base::StatusOr<launch_options> options = parse_options(argc, argv, environ);
  if (!options.ok()) return refuse(options.status(), usage_exit_code);
  if (options->wanted != lci::cli::request::run) {
    const bool is_help = options->wanted == lci::cli::request::help;
    return lci::cli::print("lcrun", is_help ? help_text() : version_text());
  }
  for (const std::string& name : unknown_variables(environ)) {
    say(lci::base::StrCat("warning: no option is called ", name));
  }
  if (options->report) return print_report(*options);
  if (options->node_rank > 0) {
    if (options->endpoint.empty()) {
      return refuse(lci::base::InvalidArgumentError(
                        "--node-rank needs --rdzv-endpoint: where host 0 is, or its file"),
                    usage_exit_code);
    }
    if (is_address(options->endpoint)) {
      const auto token = required_token_by_hand();
      if (!token.ok()) return refuse(token.status(), usage_exit_code);
    }
    return run_helper_by_hand(*options);
  }
  const lci::base::StatusOr<job_plan> plan = make_plan(*options, environ);
  if (!plan.ok()) return refuse(plan.status(), exit_code_of(plan.status()));
  if (options->dry_run) return lci::cli::print("lcrun", describe(*plan, *options));
  return run_job(*options, *plan);
}
