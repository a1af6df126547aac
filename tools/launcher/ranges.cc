#include "tools/launcher/ranges.h"

#include "lci/base/strings.h"

namespace lci::launcher {

std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    base::StrAppend(&text, text.empty() ? "" : ", ", numbers[i]);
    if (last > i) base::StrAppend(&text, "-", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string rank_ranges(const std::vector<int>& ranks) {
  return base::StrCat(ranks.size() == 1 ? "rank " : "ranks ", ranges(ranks));
}

}  // namespace lci::launcher
