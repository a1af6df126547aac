#include "lci/boot/messages.h"

#include <string_view>

#include "lci/base/env.h"
#include "lci/base/log.h"
#include "lci/base/rank_list.h"
#include "lci/base/strings.h"

namespace lci::boot {

std::string describe_ranks(const std::vector<int>& ranks) { return base::rank_list(ranks, 3); }

base::Status check_entry(std::string_view what, std::string_view key, std::string_view value) {
  if (key.empty()) {
    return base::InvalidArgumentError(base::StrCat(what, ": the key is empty; give it a name"));
  }
  if (key.size() > bootstrap::max_key_size) {
    return base::InvalidArgumentError(base::StrCat(what, ": the key has ", key.size(),
                                                   " bytes; at most ", bootstrap::max_key_size,
                                                   " are accepted"));
  }
  if (value.size() > bootstrap::max_value_size) {
    return base::InvalidArgumentError(base::StrCat(describe_call(what, key), ": the value has ",
                                                   value.size(), " bytes; at most ",
                                                   bootstrap::max_value_size, " are accepted"));
  }
  return base::OkStatus();
}

std::string describe_call(std::string_view what, std::string_view key) {
  return base::StrCat(what, " \"", base::CHexEscape(key), "\"");
}

base::Status timed_out(std::string_view call, const job_position& position,
                       std::chrono::milliseconds timeout, std::string_view detail) {
  return base::DeadlineExceededError(base::StrCat(call, " on rank ", position.rank, " of ",
                                                  position.size, ": ", detail, " within ",
                                                  timeout.count(), " ms"));
}

base::Status already_put(std::string_view call) {
  return base::AlreadyExistsError(
      base::StrCat(call, ": the key has a value already; a key is written once"));
}

base::Status already_entered(std::string_view call) {
  return base::AlreadyExistsError(base::StrCat(
      call, ": this rank has entered it already; a name is used once, also when it timed out"));
}

base::Status aborted_by(int rank, std::string_view reason) {
  return base::AbortedError(base::StrCat("the job was aborted by ",
                                         rank < 0 ? "the launcher" : base::StrCat("rank ", rank),
                                         ": ", reason));
}

std::string start_is_slow(int rank, std::chrono::seconds waited, const std::vector<int>& missing) {
  return base::StrCat("rank ", rank, " has waited ", waited.count(),
                      " s for the start of the job: ", did_not_arrive(missing), " yet");
}

void warn_of_slow_start(std::string_view warning) {
  // A wrong value is an error of global_initialize.
  const base::StatusOr<double> seconds = base::env_double("LCI_HANG_REPORT", 1, 0, 1e9);
  if (seconds.ok() && *seconds == 0) return;
  LCI_LOG(warn, warning);
}

std::string did_not_arrive(const std::vector<int>& ranks) {
  return base::StrCat(describe_ranks(ranks), " did not arrive");
}

std::string did_not_appear() { return "no rank put the key"; }

std::string left_without(std::string_view call, const std::vector<int>& ranks) {
  return base::StrCat(call, ": ", describe_ranks(ranks), " left the job without entering it");
}

std::string left_before_start(const std::vector<int>& ranks) {
  return base::StrCat("the job did not start: ", describe_ranks(ranks),
                      " ended before all ranks had arrived");
}

}  // namespace lci::boot
