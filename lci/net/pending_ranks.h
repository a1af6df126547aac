#ifndef LCI_NET_PENDING_RANKS_H_
#define LCI_NET_PENDING_RANKS_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"

namespace lci::net {

// The ranks for which work is left to the next poll, each once. Thread safety: that of a plain
// value.
class pending_ranks {
 public:
  explicit pending_ranks(int ranks) : contains_(static_cast<size_t>(ranks)) {
    list_.reserve(static_cast<size_t>(ranks));
  }

  bool empty() const { return list_.empty(); }
  bool contains(int rank) const { return contains_[static_cast<size_t>(rank)] != 0; }
  // Only for a rank that is not contained. Allocates nothing.
  void add(int rank) {
    contains_[static_cast<size_t>(rank)] = 1;
    list_.push_back(rank);
  }

  // Calls process(rank) for each rank, and removes those for which it returns false. It may add
  // ranks, which are then processed, too.
  template <class Process>
  void process_all(const Process& process) {
    for (size_t i = 0; i < list_.size();) {
      const int rank = list_[i];
      if (process(rank)) {
        ++i;
        continue;
      }
      contains_[static_cast<size_t>(rank)] = 0;
      list_[i] = list_.back();
      list_.pop_back();
    }
  }

 private:
  base::aligned_vector<uint8_t> contains_;  // by rank
  base::aligned_vector<int> list_;
};

}  // namespace lci::net

#endif  // LCI_NET_PENDING_RANKS_H_
