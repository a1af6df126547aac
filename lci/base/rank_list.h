// Numbers of ranks, as people write them.
#ifndef LCI_BASE_RANK_LIST_H_
#define LCI_BASE_RANK_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

namespace lci::base {

// Numbers in increasing order, with ranges for at least `shortest` of them in a row: "0-2, 5".
std::string number_ranges(const std::vector<int>& numbers, size_t shortest = 2);

// "rank 5", "ranks 0-2, 5".
std::string rank_list(const std::vector<int>& ranks, size_t shortest = 2);

}  // namespace lci::base

#endif  // LCI_BASE_RANK_LIST_H_
