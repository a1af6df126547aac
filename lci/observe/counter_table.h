// The counters of all ranks of a job, compared.
#ifndef LCI_OBSERVE_COUNTER_TABLE_H_
#define LCI_OBSERVE_COUNTER_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lci/base/status.h"

namespace lci::observe {

// One number of a rank.
struct named_count {
  std::string name;
  uint64_t value = 0;
  static constexpr auto fields = std::make_tuple(&named_count::name, &named_count::value);

  friend bool operator==(const named_count& a, const named_count& b) {
    return a.name == b.name && a.value == b.value;
  }
};

// The counts as a rank sends them to another one, and back.
std::string encode(const std::vector<named_count>& counts);
base::StatusOr<std::vector<named_count>> decode_counts(std::string_view bytes);

struct rank_counts {
  int rank = 0;
  std::vector<named_count> counts;  // the same names in the same order on all ranks
};

// A line per count, with the least, the median and the greatest value over the ranks, the ranks
// that have the least and the greatest, and the sum. The median of an even number of ranks is the
// lower one of the two in the middle. Counts that are 0 on all ranks have no line. `silent`: ranks
// without counts, which the first line names.
std::string counter_table(const std::vector<rank_counts>& ranks, const std::vector<int>& silent);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_COUNTER_TABLE_H_
