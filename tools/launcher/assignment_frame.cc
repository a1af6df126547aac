#include "tools/launcher/assignment_frame.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lci/base/strings.h"
#include "tools/launcher/orphan_reaper.h"

namespace lci::launcher {
namespace {

bool has_programs(const std::vector<wire::program>& programs) {
  uint32_t least = 0;
  for (const wire::program& program : programs) {
    if (program.command.empty() || program.first_rank < least) return false;
    least = program.first_rank;
  }
  return !programs.empty() && programs[0].first_rank == 0;
}

bool is_ascending(const std::vector<uint32_t>& ranks) {
  constexpr uint32_t limit = 1 << 24;
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] <= ranks[i - 1]) return false;
  }
  return !ranks.empty() && ranks.back() < limit;
}

}  // namespace

wire::rank_assignment to_frame(const job_plan& plan, const launch_options& options, size_t node,
                               const std::string& boot_address) {
  const std::vector<int>& ranks = plan.hosts[node].ranks;
  wire::rank_assignment frame;
  frame.mark = mark_of(plan.id, static_cast<int>(node));
  for (const program_plan& program : plan.programs) {
    frame.programs.push_back({static_cast<uint32_t>(program.first_rank), program.command,
                              program.wdir, program.environment});
  }
  frame.environment = plan.sent;
  frame.own = plan.own;
  frame.own.push_back(base::StrCat("LCI_BOOT_ADDR=", boot_address));
  frame.ranks.assign(ranks.begin(), ranks.end());
  frame.bind_to = static_cast<uint32_t>(binding_of(options));
  frame.map_by = static_cast<uint32_t>(options.map_by);
  frame.report_bindings = options.report_bindings ? 1 : 0;
  if (std::binary_search(ranks.begin(), ranks.end(), plan.stdin_rank)) {
    frame.stdin_rank = static_cast<uint32_t>(plan.stdin_rank);
  }
  return frame;
}

bool is_valid(const wire::rank_assignment& frame) {
  return is_ascending(frame.ranks) && frame.bind_to <= static_cast<uint32_t>(binding::socket) &&
         frame.map_by <= static_cast<uint32_t>(mapping::node) && has_programs(frame.programs) &&
         base::StartsWith(frame.mark, "LCI_JOB_NODE=");
}

rank_assignment from_frame(const wire::rank_assignment& frame) {
  rank_assignment assigned;
  assigned.host = host_name();
  for (const wire::program& program : frame.programs) {
    assigned.programs.push_back({static_cast<int>(program.first_rank), program.command, "",
                                 program.wdir, program.environment});
  }
  assigned.mark = frame.mark;
  assigned.ranks.assign(frame.ranks.begin(), frame.ranks.end());
  assigned.bind_to = static_cast<binding>(frame.bind_to);
  assigned.map_by = static_cast<mapping>(frame.map_by);
  assigned.report_bindings = frame.report_bindings != 0;
  if (frame.stdin_rank != wire::no_rank) assigned.stdin_rank = static_cast<int>(frame.stdin_rank);
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    assigned.environment.push_back(*entry);
  }
  for (const std::string& variable : frame.environment) {
    set_variable(&assigned.environment, variable);
  }
  assigned.own = frame.own;
  return assigned;
}

}  // namespace lci::launcher
