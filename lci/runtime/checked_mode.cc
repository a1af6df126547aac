#include "lci/runtime/checked_mode.h"

#include <chrono>
#include <optional>
#include <stdexcept>

#include "lci/base/strings.h"
#include "lci/observe/rank_report.h"
#include "lci/runtime/poll.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {
namespace {

using entry = observe::rank_report::message;

std::string describe(int rank, const entry& left) {
  const bool is_receive = left.what == entry::kind::receive;
  const std::string tag = left.any_tag ? "any tag" : base::StrCat("tag ", left.tag);
  const std::string peer = left.peer < 0 ? "any rank" : base::StrCat("rank ", left.peer);
  const std::string count =
      left.count == 1 ? base::StrCat(is_receive ? "a receive of " : "a message of ", left.size)
                      : base::StrCat(left.count, is_receive ? " receives" : " messages",
                                     ", the first one of ", left.size);
  return base::StrCat(
      "rank ", rank, " leaves ", count, left.size == 1 ? " byte" : " bytes", " with ", tag,
      " from ", peer,
      is_receive ? ", which no message has matched" : ", which no receive has matched");
}

// Reads what peers have sent before they came to free_runtime, and the network has not delivered
// yet.
void take_arrivals(device_impl_t& device) {
  constexpr std::chrono::milliseconds time_on_the_way{100};
  const auto end = std::chrono::steady_clock::now() + time_on_the_way;
  while (std::chrono::steady_clock::now() < end) {
    try {
      poll(device);
    } catch (const std::runtime_error&) {
      // A failed peer, or a message that can't be delivered: neither is a leftover.
    }
  }
}

}  // namespace

std::vector<std::string> leftovers(runtime_impl_t& runtime) {
  std::vector<std::string> sentences;
  matching_engine_impl_t* const engine = runtime.default_matching_engine();
  if (engine == nullptr) return sentences;
  if (runtime.default_device() != nullptr) take_arrivals(*runtime.default_device());
  observe::rank_report report;
  engine->describe(&report);
  for (const entry& each : report.messages) {
    // Collective operations that a failure has ended leave some.
    if (each.collective == 0) sentences.push_back(describe(runtime.rank(), each));
  }
  if (report.left_out > 0) {
    sentences.push_back(
        base::StrCat("rank ", runtime.rank(), " leaves ", report.left_out, " more"));
  }
  return sentences;
}

void check_unused(runtime_impl_t& runtime, const comp_impl_t& comp) {
  const std::optional<matching_key> found = runtime.find_receive_of(comp);
  if (!found) return;
  const bool has_rank =
      found->policy == matching_policy_t::rank_tag || found->policy == matching_policy_t::rank_only;
  throw std::logic_error(
      base::StrCat("lci: free_comp: a receive from ",
                   has_rank ? base::StrCat("rank ", found->rank) : std::string("any rank"),
                   " with tag ", found->tag, " waits, and would signal completion object \"",
                   comp.attr.name, "\"; wait for it before free_comp"));
}

}  // namespace lci::rt
