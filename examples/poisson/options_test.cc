#include "examples/poisson/options.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace poisson {
namespace {

const std::vector<mode> modes = {{"one", "the first"}, {"two", "the second"}};

options parse(std::vector<std::string> words, bool* help = nullptr) {
  words.insert(words.begin(), "poisson");
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(&each[0]);
  arguments.push_back(nullptr);
  bool asked = false;
  const options chosen =
      parse_options(static_cast<int>(words.size()), arguments.data(), modes, &asked);
  if (help != nullptr) *help = asked;
  return chosen;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const usage_error& error) {
    return error.what();
  }
  return "";
}

TEST(Options, Defaults) {
  const options chosen = parse({});
  EXPECT_EQ(chosen.mode, "one");
  EXPECT_EQ(chosen.grid.x, 64);
  EXPECT_FALSE(chosen.processes.has_value());
  EXPECT_FALSE(chosen.check || chosen.report || chosen.json);
}

TEST(Options, All) {
  const options chosen =
      parse({"--grid", "10x7x9", "--iterations=3", "--mode", "two", "--slabs", "5", "--processes",
             "3x2", "--contrast", "0.5", "--fftw", "estimate", "--check", "--report", "--json"});
  EXPECT_EQ(chosen.grid.x, 10);
  EXPECT_EQ(chosen.grid.y, 7);
  EXPECT_EQ(chosen.grid.z, 9);
  EXPECT_EQ(chosen.iterations, 3);
  EXPECT_EQ(chosen.mode, "two");
  EXPECT_EQ(chosen.slabs, 5);
  EXPECT_EQ(chosen.processes->y, 3);
  EXPECT_EQ(chosen.processes->z, 2);
  EXPECT_EQ(chosen.contrast, 0.5);
  EXPECT_EQ(chosen.plan, planning::estimate);
  EXPECT_TRUE(chosen.check && chosen.report && chosen.json);
  EXPECT_EQ(parse({"--grid", "12"}).grid.z, 12);
}

TEST(Options, Help) {
  bool help = false;
  parse({"--help"}, &help);
  EXPECT_TRUE(help);
  const std::string text = help_text("start poisson", modes);
  for (const char* part : {"usage: start poisson [options]", "one  the first", "two  the second"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(Options, SaysWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> all = {
      {{"--grid", "5"}, "--grid 5: must be N or NXxNYxNZ"},
      {{"--grid", "8x8"}, "--grid 8x8: must be"},
      {{"--grid", "8x8x0"}, "numbers from 1 to 4096"},
      {{"--iterations", "0"}, "--iterations 0: must be a number from 1"},
      {{"--iterations", "-1"}, "--iterations -1: must be a number"},
      {{"--slabs", "two"}, "--slabs two: must be a number"},
      {{"--mode", "three"}, "--mode three: must be one or two"},
      {{"--processes", "2"}, "--processes 2: must be RYxRZ"},
      {{"--contrast", "1"}, "--contrast 1: must be from 0 to below 1"},
      {{"--fftw", "x"}, "--fftw x: must be estimate or measure"},
      {{"--grid"}, "--grid: its value is missing"},
      {{"--unknown"}, "unknown option --unknown"},
      {{"word"}, "unexpected argument word"},
  };
  for (const auto& each : all) {
    EXPECT_NE(refusal(each.first).find(each.second), std::string::npos)
        << each.second << " / " << refusal(each.first);
  }
}

}  // namespace
}  // namespace poisson
