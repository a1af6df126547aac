// Which process, on which node: to tell a living owner from a dead one, and neighbours from others.
#ifndef LCI_BOOT_PROCESS_H_
#define LCI_BOOT_PROCESS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace lci::boot {

// A process for good: the kernel uses a pid again, but not with the same start time (in clock ticks
// since the machine started; field 22 of /proc/PID/stat). The pid is the one that /proc shows,
// which differs from getpid() where /proc is that of an outer PID namespace (as in some sandboxes).
struct process_id {
  int64_t pid = 0;
  uint64_t start_time = 0;

  friend bool operator==(const process_id& a, const process_id& b) {
    return a.pid == b.pid && a.start_time == b.start_time;
  }
};

// nullopt if there is no such process, or /proc does not show it.
std::optional<process_id> find_process(int64_t pid);

// With start time 0 if there is no /proc.
process_id this_process();

// Whether the process still runs. One that has ended but is not yet waited for by its parent does
// not. Only meaningful within one process_domain(). True for start time 0: nobody can know.
bool is_alive(const process_id& process);

// Equal for processes that see each other's pids: same machine, same start of it, same
// /proc.
std::string process_domain();

// Equal for processes that can share memory: same machine, same host name, same /dev/shm. Ranks
// with equal names are counted as local to each other.
std::string node_name();

// The nearest ancestor without `variable` in the environment it was started with: what set the
// variable, whichever shells and wrappers stand between. nullopt if /proc does not say.
std::optional<process_id> ancestor_without(const std::string& variable);

}  // namespace lci::boot

#endif  // LCI_BOOT_PROCESS_H_
