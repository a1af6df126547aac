#include "lci/base/rank_list.h"

#include "lci/base/strings.h"

namespace lci::base {

std::string number_ranges(const std::vector<int>& numbers, size_t shortest) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last - i + 1 < shortest) last = i;
    StrAppend(&text, text.empty() ? "" : ", ", numbers[i]);
    if (last > i) StrAppend(&text, "-", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string rank_list(const std::vector<int>& ranks, size_t shortest) {
  return StrCat(ranks.size() == 1 ? "rank " : "ranks ", number_ranges(ranks, shortest));
}

}  // namespace lci::base
