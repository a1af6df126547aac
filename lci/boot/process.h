// Identity of processes and nodes: distinguishes living owners from dead ones, and local ranks from
// remote ones.
#ifndef LCI_BOOT_PROCESS_H_
#define LCI_BOOT_PROCESS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace lci::boot {

// Identifies a process for good: the kernel reuses a pid, but not with the same start time (in
// clock ticks since the machine started; field 22 of /proc/PID/stat). The pid is the one in /proc,
// which differs from getpid() where /proc belongs to an outer PID namespace (as in some sandboxes).
struct process_id {
  int64_t pid = 0;
  uint64_t start_time = 0;
  // Of the program that the process runs: where its stack begins (field 28), which the kernel
  // chooses at random for each execve. 0: unknown. Without that randomization, a process that
  // executes the same program again with the same arguments cannot be distinguished.
  uint64_t image = 0;

  friend bool operator==(const process_id& a, const process_id& b) {
    return a.pid == b.pid && a.start_time == b.start_time;
  }
};

// Returns nullopt if there is no such process, or /proc does not show it.
std::optional<process_id> find_process(int64_t pid);

// The start time is 0 if there is no /proc.
process_id this_process();

// Whether the process still runs, and has not replaced its program by another one (execve). A
// zombie does not run. Only meaningful within one process_domain(). True if it cannot be known: for
// start time 0, or where this process may open no more files.
bool is_alive(const process_id& process);

// Returns the holder of a flock on the open file, for a message: "process 123" or "process 123,
// which is stopped". Returns an empty string if no process holds one, or if /proc does not show the
// holder, as on another host.
std::string describe_lock_holder(int fd);

// Equal for processes of one machine since its last start.
std::string boot_id();

// Equal for processes that see each other's pids: same machine, same boot, same /proc.
std::string process_domain();

// Equal for processes that have the same network interfaces, and so the same loopback: same
// machine, same boot, same network namespace.
std::string network_domain();

// Equal for processes that can share memory: same machine, same host name, same /dev/shm. Ranks
// with equal node names are counted as local to each other.
std::string node_name();

// Returns the nearest ancestor that was started without `variable` in its environment: the process
// that set the variable. There may be shells and wrappers in between. nullopt if /proc does not
// show it.
std::optional<process_id> ancestor_without(const std::string& variable);

}  // namespace lci::boot

#endif  // LCI_BOOT_PROCESS_H_
