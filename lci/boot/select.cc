#include <optional>
#include <utility>

#include "lci/base/env.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/environment.h"
#include "lci/boot/file.h"
#include "lci/boot/in_process.h"
#include "lci/boot/job_id.h"
#include "lci/boot/meeting_file.h"
#include "lci/boot/tcp_client.h"

namespace lci::boot {
namespace {

enum class choice { automatic, local, file, tcp };

constexpr base::enum_name<choice> choices[] = {
    {"auto", choice::automatic},
    {"local", choice::local},
    {"file", choice::file},
    {"tcp", choice::tcp},
};

// The bootstrap of `job` if LCI_BOOT does not choose it.
choice choose(const launch& job) {
  if (base::env_text("LCI_BOOT_ADDR")) return choice::tcp;
  if (job.position.size == 1) return choice::local;
  return job.several_nodes ? choice::tcp : choice::file;
}

// What the user can do if nothing that the ranks have in common leads them to each other.
base::Status without_name(const launch& job) {
  return base::InvalidArgumentError(base::StrCat(
      job.launcher,
      " gives this job no name that is the same on all its machines; set LCI_JOB_ID to the same "
      "new text in all ranks if the machines share the home directory or LCI_BOOT_DIR, else "
      "LCI_BOOT_ADDR to host:port, where host is the machine of rank 0 and port a free one, and "
      "LCI_BOOT_TOKEN to a secret of the job"));
}

base::StatusOr<std::unique_ptr<bootstrap>> make_local(bootstrap::duration timeout) {
  return std::move(make_in_process_job(1, timeout)[0]);
}

base::StatusOr<std::unique_ptr<bootstrap>> connect_tcp(const launch& job,
                                                       bootstrap::duration timeout) {
  tcp_client_options options;
  options.position = job.position;
  options.timeout = timeout;
  const std::optional<std::string> address = base::env_text("LCI_BOOT_ADDR");
  if (!address) {
    if (!job.job_is_global) return without_name(job);
    const base::StatusOr<std::string> path =
        meeting_path(base::env_string("LCI_BOOT_DIR", ""), job.job);
    if (!path.ok()) return path.status();
    return connect_meeting_tcp_bootstrap(options, *path);
  }
  options.address = *address;
  options.token = base::env_string("LCI_BOOT_TOKEN", "");
  // Only lcrun sets both a job id and an address, and serves the address.
  const bool served = base::env_text("LCI_JOB_ID").has_value();
  return served ? connect_tcp_bootstrap(options) : connect_standalone_tcp_bootstrap(options);
}

base::StatusOr<std::unique_ptr<bootstrap>> open_file(const launch& job,
                                                     bootstrap::duration timeout) {
  file_options options;
  options.root = base::env_string("LCI_BOOT_DIR", "");
  options.job = job.job;
  options.job_id = base::env_string("LCI_JOB_ID", "");
  options.position = job.position;
  options.timeout = timeout;
  if (base::Status status = check_job_id("LCI_JOB_ID=", options.job_id); !status.ok())
    return status;
  if (job.several_nodes && !job.job_is_global) return without_name(job);
  base::StatusOr<std::unique_ptr<bootstrap>> opened = open_file_bootstrap(options);
  if (!base::IsDeadlineExceeded(opened.status())) return opened;
  // The missing ranks may be looking for each other elsewhere.
  return base::DeadlineExceededError(base::StrCat(
      opened.status().message(),
      "; if they run, but on other machines or started by another shell, set "
      "LCI_BOOT_ADDR=host:port "
      "(rank 0's machine, a free port), or LCI_BOOT_DIR and LCI_JOB_ID, to the same in all"));
}

}  // namespace

base::StatusOr<std::unique_ptr<bootstrap>> make_bootstrap() {
  base::open_standard_streams();
  const base::StatusOr<choice> requested =
      base::env_enum<choice>("LCI_BOOT", choice::automatic, choices);
  if (!requested.ok()) return requested.status();
  const base::StatusOr<double> seconds = base::env_double("LCI_BOOT_TIMEOUT", 60, 0.001, 1e7);
  if (!seconds.ok()) return seconds.status();
  const auto timeout = bootstrap::duration(static_cast<int64_t>(*seconds * 1000));
  const base::StatusOr<std::optional<launch>> job = read_launch();
  if (!job.ok()) return job.status();

  if (*requested == choice::local || (*requested == choice::automatic && !job->has_value())) {
    if (job->has_value() && (*job)->position.size > 1) {
      return base::InvalidArgumentError(
          base::StrCat("LCI_BOOT=local is for one process, but ", (*job)->launcher, " has started ",
                       (*job)->position.size, "; set LCI_BOOT=auto, file or tcp"));
    }
    const std::optional<std::string> address = base::env_text("LCI_BOOT_ADDR");
    if (*requested == choice::automatic && address) {
      return base::InvalidArgumentError(
          base::StrCat("LCI_BOOT_ADDR=", *address,
                       " is set, but nothing says which rank this is; set LCI_RANK and LCI_SIZE"));
    }
    return make_local(timeout);
  }
  if (!job->has_value()) {
    return base::InvalidArgumentError(
        base::StrCat("LCI_BOOT=", *requested == choice::file ? "file" : "tcp",
                     ", but nothing says which rank this is; start the program with lcrun, or set "
                     "LCI_RANK and LCI_SIZE in every process"));
  }
  switch (*requested == choice::automatic ? choose(**job) : *requested) {
    case choice::tcp:
      return connect_tcp(**job, timeout);
    case choice::file:
      return open_file(**job, timeout);
    default:
      return make_local(timeout);
  }
}

}  // namespace lci::boot
