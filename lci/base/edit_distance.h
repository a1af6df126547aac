// Edit distance of two names, to suggest the name that was probably meant.
#ifndef LCI_BASE_EDIT_DISTANCE_H_
#define LCI_BASE_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace lci::base {

// Least number of insertions, deletions and replacements of single characters that turn one text
// into the other (Levenshtein distance; algorithm of Wagner and Fischer, with one row of the
// table).
inline size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace lci::base

#endif  // LCI_BASE_EDIT_DISTANCE_H_
