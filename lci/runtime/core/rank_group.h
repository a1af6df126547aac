#ifndef LCI_RUNTIME_CORE_RANK_GROUP_H_
#define LCI_RUNTIME_CORE_RANK_GROUP_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "lci/runtime/core/rank_state.h"

namespace lci::rt {

// Ranks of a job in the order of a group, by which collective operations number their *places*.
//
// Thread safety: as of a std::vector.
class rank_group {
 public:
  explicit rank_group(const rank_state& state) : state_(state) {}
  void set_ranks(std::vector<int> ranks) { ranks_ = std::move(ranks); }

  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  int rank_at(int place) const { return ranks_[static_cast<size_t>(place)]; }
  // -1: it is not in the group.
  int place_of(int rank) const {
    const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
    return found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin());
  }
  // The rank that failed first of all, if it is in the group, since others may have left for its
  // sake; otherwise one of the group that has failed; -1: none.
  int first_failed() const {
    const int first = state_.first_failed();
    if (__builtin_expect(first < 0, 1)) return -1;
    if (place_of(first) >= 0) return first;
    const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                    [this](int rank) { return state_.has_failed(rank); });
    return found == ranks_.end() ? -1 : *found;
  }

 private:
  const rank_state& state_;
  std::vector<int> ranks_;  // by place
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_RANK_GROUP_H_
