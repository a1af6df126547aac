// Processes that the kernel has killed because memory ran out.
#ifndef LCI_TOOLS_LAUNCHER_MEMORY_KILLS_H_
#define LCI_TOOLS_LAUNCHER_MEMORY_KILLS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace lci::launcher {

// Returns the number of processes that the out-of-memory killer of this machine has ended since the
// machine was started, also those of other containers and because of a limit of one container. Empty
// where the kernel does not say so (before Linux 4.13). The kernel counts a process before it kills
// it.
std::optional<uint64_t> count_memory_kills();

// Reads that number from the text of /proc/vmstat.
std::optional<uint64_t> parse_memory_kills(std::string_view vmstat);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_MEMORY_KILLS_H_
