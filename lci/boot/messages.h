// Checks and messages that all bootstraps share.
#ifndef LCI_BOOT_MESSAGES_H_
#define LCI_BOOT_MESSAGES_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

// "rank 3", "ranks 0, 2, 5-9". The ranks ascend.
std::string describe_ranks(const std::vector<int>& ranks);

// Checks the key, which is not empty and has at most bootstrap::max_key_size bytes, and the value,
// which has at most bootstrap::max_value_size. `what` is "put", "get", "barrier" or "allgather".
base::Status check_entry(std::string_view what, std::string_view key, std::string_view value = "");

// `barrier "x"`: key bytes that are not printable are escaped.
std::string describe_call(std::string_view what, std::string_view key);

// The errors of the contract. `call` comes from describe_call.
base::Status timed_out(std::string_view call, const job_position& position,
                       std::chrono::milliseconds timeout, std::string_view detail);
base::Status already_put(std::string_view call);
base::Status already_entered(std::string_view call);
base::Status aborted_by(int rank, std::string_view reason);  // rank -1: the launcher

// How long ranks wait for the start of the job until they say so.
constexpr std::chrono::seconds start_patience{10};
// The warning of `rank`, the first of those that wait, so that each job has one.
std::string start_is_slow(int rank, std::chrono::seconds waited, const std::vector<int>& missing);
// Logs such a warning, unless LCI_HANG_REPORT is 0: then the program does not want to hear of waits.
void warn_of_slow_start(std::string_view warning);

// The details of timed_out.
std::string did_not_arrive(const std::vector<int>& ranks);
std::string did_not_appear();

// Errors of waiters that ranks left behind.
std::string left_without(std::string_view call, const std::vector<int>& ranks);
std::string left_before_start(const std::vector<int>& ranks);

}  // namespace lci::boot

#endif  // LCI_BOOT_MESSAGES_H_
