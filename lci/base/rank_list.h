// Numbers of ranks, as people write them.
#ifndef LCI_BASE_RANK_LIST_H_
#define LCI_BASE_RANK_LIST_H_

#include <string>
#include <vector>

namespace lci::base {

// Numbers in increasing order, with ranges for those in a row: "0-2, 5".
std::string number_ranges(const std::vector<int>& numbers);

// "rank 5", "ranks 0-2, 5".
std::string rank_list(const std::vector<int>& ranks);

}  // namespace lci::base

#endif  // LCI_BASE_RANK_LIST_H_
