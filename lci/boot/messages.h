// What all bootstraps check and say in the same words.
#ifndef LCI_BOOT_MESSAGES_H_
#define LCI_BOOT_MESSAGES_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

// "rank 3", "ranks 0, 2, 5-9". The ranks ascend.
std::string describe_ranks(const std::vector<int>& ranks);

// Non-empty and at most bootstrap::max_key_size. `what` is "put", "get", "barrier" or "allgather".
absl::Status check_key(absl::string_view what, absl::string_view key);
// At most bootstrap::max_value_size.
absl::Status check_value(absl::string_view what, absl::string_view key, absl::string_view value);

// `barrier "x"`: key bytes that are not printable are escaped.
std::string describe_call(absl::string_view what, absl::string_view key);

// The errors of the contract. `call` comes from describe_call.
absl::Status timed_out(absl::string_view call, const job_position& position,
                       std::chrono::milliseconds timeout, absl::string_view detail);
absl::Status already_put(absl::string_view call);
absl::Status already_entered(absl::string_view call);
absl::Status aborted_by(int rank, absl::string_view reason);  // rank -1: the launcher

// The details of timed_out.
std::string did_not_arrive(const std::vector<int>& ranks);
std::string did_not_appear();

// What waiters are told of ranks without which they would wait for ever.
std::string left_without(absl::string_view call, const std::vector<int>& ranks);
std::string left_before_start(const std::vector<int>& ranks);

}  // namespace lci::boot

#endif  // LCI_BOOT_MESSAGES_H_
