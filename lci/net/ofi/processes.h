#ifndef LCI_NET_OFI_PROCESSES_H_
#define LCI_NET_OFI_PROCESSES_H_

#include <cstddef>
#include <vector>

#include "lci/boot/process.h"

namespace lci::net::ofi {

// The processes of all ranks, as far as this host can see them. Thread safety: that of a plain
// value.
class process_table {
 public:
  // Adds the process of the next rank. `elsewhere`: this host cannot see it.
  void add(const boot::process_id& process, bool elsewhere) {
    ranks_.push_back({process, elsewhere});
  }

  bool is_elsewhere(int rank) const { return ranks_[static_cast<size_t>(rank)].elsewhere; }
  // Always false for a process that this host cannot see.
  bool has_ended(int rank) const {
    return !is_elsewhere(rank) && !boot::is_alive(ranks_[static_cast<size_t>(rank)].process);
  }

 private:
  struct entry {
    boot::process_id process;
    bool elsewhere;
  };
  std::vector<entry> ranks_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PROCESSES_H_
