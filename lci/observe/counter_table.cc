#include "lci/observe/counter_table.h"

#include <algorithm>
#include <cstdio>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/io/record.h"

namespace lci::observe {
namespace {

struct rank_value {
  uint64_t value;
  int rank;
};

// Where the value is the same on several ranks, the first one stands for them.
std::vector<rank_value> sorted_values(const std::vector<rank_counts>& ranks, size_t line) {
  std::vector<rank_value> values;
  for (const rank_counts& each : ranks) {
    if (line < each.counts.size()) values.push_back({each.counts[line].value, each.rank});
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const rank_value& a, const rank_value& b) { return a.value < b.value; });
  return values;
}

constexpr char row_format[] = "%-28s %16s %6s %16s %16s %6s %18s\n";

void append_row(std::string* text, const std::string& name, const std::string& least,
                const std::string& least_rank, const std::string& median,
                const std::string& greatest, const std::string& greatest_rank,
                const std::string& sum) {
  char row[256];
  std::snprintf(row, sizeof(row), row_format, name.c_str(), least.c_str(), least_rank.c_str(),
                median.c_str(), greatest.c_str(), greatest_rank.c_str(), sum.c_str());
  *text += row;
}

}  // namespace

std::string encode(const std::vector<named_count>& counts) { return io::encode_record(counts); }

base::StatusOr<std::vector<named_count>> decode_counts(std::string_view bytes) {
  std::vector<named_count> counts;
  if (!io::decode_record(bytes, &counts)) {
    return base::InvalidArgumentError("these bytes are not the counters of a rank");
  }
  return counts;
}

std::string counter_table(const std::vector<rank_counts>& ranks, const std::vector<int>& silent) {
  std::string text =
      base::StrCat("counters of ", ranks.size(), ranks.size() == 1 ? " rank" : " ranks");
  if (!silent.empty()) base::StrAppend(&text, "; none from ", base::rank_list(silent));
  text += '\n';
  if (ranks.empty()) return text;
  append_row(&text, "", "least", "rank", "median", "greatest", "rank", "sum");
  for (size_t line = 0; line < ranks.front().counts.size(); ++line) {
    const std::vector<rank_value> values = sorted_values(ranks, line);
    const rank_value& least = values.front();
    const uint64_t most = values.back().value;
    if (most == 0) continue;
    const auto greatest = std::find_if(values.begin(), values.end(),
                                       [most](const rank_value& v) { return v.value == most; });
    uint64_t sum = 0;
    for (const rank_value& each : values) sum += each.value;
    append_row(&text, ranks.front().counts[line].name, base::StrCat(least.value),
               base::StrCat(least.rank), base::StrCat(values[(values.size() - 1) / 2].value),
               base::StrCat(most), base::StrCat(greatest->rank), base::StrCat(sum));
  }
  return text;
}

}  // namespace lci::observe
