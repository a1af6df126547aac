#include "lci/observe/counter_table.h"

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace lci::observe {
namespace {

std::vector<std::string> words_of_line(const std::string& table, const std::string& first) {
  std::istringstream lines(table);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.compare(0, first.size(), first) != 0) continue;
    std::istringstream rest(line.substr(first.size()));
    std::vector<std::string> words;
    for (std::string word; rest >> word;) words.push_back(word);
    return words;
  }
  return {};
}

TEST(CounterTable, IsTheSameAfterTheTrip) {
  const std::vector<named_count> counts = {
      {"sent messages", 17}, {"polls", ~uint64_t{0}}, {"0", 0}};
  const auto again = decode_counts(encode(counts));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, counts);
}

TEST(CounterTable, MalformedCountsAreErrors) {
  const std::string bytes = encode({{"polls", 3}, {"sent messages", 17}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_counts(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_counts(bytes + '\0').ok());
}

TEST(CounterTable, ComparesRanks) {
  const std::string table = counter_table({{0, {{"a", 5}, {"b", 0}}},
                                           {1, {{"a", 9}, {"b", 0}}},
                                           {2, {{"a", 1}, {"b", 0}}},
                                           {3, {{"a", 9}, {"b", 0}}}},
                                          {});
  EXPECT_EQ(words_of_line(table, "a "), (std::vector<std::string>{"1", "2", "5", "9", "1", "24"}));
  EXPECT_TRUE(words_of_line(table, "b ").empty()) << table;
  EXPECT_NE(table.find("counters of 4 ranks\n"), std::string::npos) << table;
}

TEST(CounterTable, NamesSilentRanks) {
  const std::string table = counter_table({{1, {{"a", 7}}}}, {0, 2, 3});
  EXPECT_NE(table.find("counters of 1 rank; none from ranks 0, 2-3\n"), std::string::npos) << table;
  EXPECT_EQ(words_of_line(table, "a "), (std::vector<std::string>{"7", "1", "7", "7", "1", "7"}));
}

TEST(CounterTable, OfNoRankIsALine) {
  EXPECT_EQ(counter_table({}, {0}), "counters of 0 ranks; none from rank 0\n");
}

}  // namespace
}  // namespace lci::observe
