#include "lci/boot/messages.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lci::boot {

std::string describe_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == i + 1) last = i;  // two neighbours read better one by one
    absl::StrAppend(&text, i == 0 ? "" : ", ", ranks[i]);
    if (last != i) absl::StrAppend(&text, "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

absl::Status check_key(absl::string_view what, absl::string_view key) {
  if (key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the key is empty; give it a name"));
  }
  if (key.size() > bootstrap::max_key_size) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the key has ", key.size(),
                                                   " bytes; at most ", bootstrap::max_key_size,
                                                   " are accepted"));
  }
  return absl::OkStatus();
}

absl::Status check_value(absl::string_view what, absl::string_view key, absl::string_view value) {
  if (value.size() > bootstrap::max_value_size) {
    return absl::InvalidArgumentError(absl::StrCat(describe_call(what, key), ": the value has ",
                                                   value.size(), " bytes; at most ",
                                                   bootstrap::max_value_size, " are accepted"));
  }
  return absl::OkStatus();
}

std::string describe_call(absl::string_view what, absl::string_view key) {
  return absl::StrCat(what, " \"", absl::CHexEscape(key), "\"");
}

absl::Status timed_out(absl::string_view call, const job_position& position,
                       std::chrono::milliseconds timeout, absl::string_view detail) {
  return absl::DeadlineExceededError(absl::StrCat(call, " on rank ", position.rank, " of ",
                                                  position.size, ": ", detail, " within ",
                                                  timeout.count(), " ms"));
}

absl::Status already_put(absl::string_view call) {
  return absl::AlreadyExistsError(
      absl::StrCat(call, ": the key has a value already; a key is written once"));
}

absl::Status already_entered(absl::string_view call) {
  return absl::AlreadyExistsError(absl::StrCat(
      call, ": this rank has entered it already; a name is used once, also when it timed out"));
}

absl::Status aborted_by(int rank, absl::string_view reason) {
  return absl::AbortedError(absl::StrCat("the job was aborted by ",
                                         rank < 0 ? "the launcher" : absl::StrCat("rank ", rank),
                                         ": ", reason));
}

std::string did_not_arrive(const std::vector<int>& ranks) {
  return absl::StrCat(describe_ranks(ranks), " did not arrive");
}

std::string did_not_appear() { return "no rank put the key"; }

std::string left_without(absl::string_view call, const std::vector<int>& ranks) {
  return absl::StrCat(call, ": ", describe_ranks(ranks), " left the job without entering it");
}

std::string left_before_start(const std::vector<int>& ranks) {
  return absl::StrCat("the job did not start: ", describe_ranks(ranks),
                      " ended before all ranks had arrived");
}

}  // namespace lci::boot
