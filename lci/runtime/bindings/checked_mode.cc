#include "lci/runtime/bindings/checked_mode.h"

#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "lci/base/env.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/observe/call_site.h"
#include "lci/observe/rank_report.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/completion/checked.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

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

struct allocated {
  attr_comp_type_t type;
  std::string name;
  observe::call_stack stack;
};

struct allocated_objects {
  std::mutex mutex;
  std::unordered_map<const comp_impl_t*, allocated> objects;  // guarded by mutex
};
allocated_objects& all_objects() {
  static allocated_objects* const of_process = new allocated_objects;
  return *of_process;
}

}  // namespace

void note_allocated(const comp_impl_t& comp) {
  allocated made{comp.attr.comp_type, comp.attr.name, observe::call_stack::here()};
  const std::lock_guard<std::mutex> guard(all_objects().mutex);
  all_objects().objects.insert_or_assign(&comp, std::move(made));
}

void note_freed(const comp_impl_t& comp) {
  const std::lock_guard<std::mutex> guard(all_objects().mutex);
  all_objects().objects.erase(&comp);
}

std::vector<std::string> take_objects_left() {
  constexpr size_t most = 10;
  std::map<std::string, int> counts;  // by kind, name and place
  {
    const std::lock_guard<std::mutex> guard(all_objects().mutex);
    for (const auto& [unused, each] : all_objects().objects) {
      const std::string place = each.stack.caller();
      ++counts[base::StrCat(name_of(each.type),
                            each.name.empty() ? "" : base::StrCat(" \"", each.name, "\""),
                            place.empty() ? "" : base::StrCat(" allocated at ", place))];
    }
    all_objects().objects.clear();
  }
  std::vector<std::string> sentences;
  for (const auto& [what, count] : counts) {
    if (sentences.size() == most) {
      sentences.push_back(base::StrCat("and objects of ", counts.size() - most, " more places"));
      break;
    }
    sentences.push_back(base::StrCat(count, " x ", what, count == 1 ? " has" : " have",
                                     " not been freed (free_comp)"));
  }
  return sentences;
}

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

void check_unused(const comp_impl_t& comp) {
  const std::string pending = checker_of_process().load()->pending_on(comp);
  if (pending.empty()) return;
  throw_logic_error("free_comp: ", pending, ", and will signal completion object \"",
                    comp.attr.name, "\"; wait for it before free_comp");
}

void report_registered(const comp_impl_t& comp, const std::vector<rcomp_t>& names) {
  for (const rcomp_t name : names) {
    LCI_LOG(warn, "free_comp: completion object \"", comp.attr.name, "\" is registered as ", name,
            ", and a message for it would be dropped; call deregister_rcomp before");
  }
}

std::unique_ptr<checker> make_checker_from_environment(double patience) {
  checker_options options;
  const bool is_wanted = checked_setting(base::env_bool("LCI_CHECK", false));
  options.most_summed =
      checked_setting(base::env_size("LCI_CHECK_BYTES", options.most_summed, 0, size_t{1} << 40));
  if (!is_wanted) return nullptr;
  options.patience = std::chrono::milliseconds(static_cast<int64_t>(patience * 1000));
  return std::make_unique<checker>(options);
}

}  // namespace lci::rt
