// Numbers, such as ranks, as a person reads them: in ranges.
#ifndef LCI_TOOLS_LAUNCHER_RANGES_H_
#define LCI_TOOLS_LAUNCHER_RANGES_H_

#include <string>
#include <vector>

namespace lci::launcher {

// "0-2, 5" of {0, 1, 2, 5}, which ascend.
std::string ranges(const std::vector<int>& numbers);

// "rank 5", "ranks 0-2, 5".
std::string rank_ranges(const std::vector<int>& ranks);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_RANGES_H_
