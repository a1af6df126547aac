#include "tools/launcher/options.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "tools/launcher/option_table.h"
#include "tools/launcher/spellings.h"

namespace lci::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// `text`: the words of a command line, without lcrun.
base::StatusOr<launch_options> parse(const std::string& text) {
  std::vector<std::string> words = {"lcrun"};
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  return parse_options(static_cast<int>(words.size()), argv.data(), environment);
}

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Spellings, OfTheNumberOfRanks) {
  for (const char* text :
       {"-n 3 p", "-np 3 p", "--np 3 p", "--n 3 p", "-n3 p", "--np=3 p", "--ntasks=3 p"}) {
    const auto options = parse(text);
    ASSERT_TRUE(options.ok()) << text << ": " << options.status();
    EXPECT_EQ(options->programs[0].ranks, 3) << text;
  }
}

TEST(Spellings, OfRanksPerHost) {
  for (const char* text : {"--ppn 2 p", "-ppn 2 p", "-N 2 p", "-N2 p", "-npernode 2 p",
                           "-perhost 2 p", "--ntasks-per-node=2 p", "--nproc_per_node 2 p"}) {
    const auto options = parse(text);
    ASSERT_TRUE(options.ok()) << text << ": " << options.status();
    EXPECT_EQ(options->per_host, 2) << text;
  }
  EXPECT_EQ(parse("--pernode p")->per_host, 1);
}

TEST(Spellings, OfHosts) {
  for (const char* text : {"-H a,b p", "--host a,b p", "-hosts a,b p", "--hosts=a,b p", "-w a,b p",
                           "--nodelist=a,b p"}) {
    const auto options = parse(text);
    ASSERT_TRUE(options.ok()) << text << ": " << options.status();
    EXPECT_EQ(options->host_list, "a,b") << text;
  }
  EXPECT_EQ(parse("--nodelist n[1-3] p")->host_list, "n1,n2,n3");
  for (const char* text : {"-f h p", "-hostfile h p", "--machinefile h p"}) {
    EXPECT_EQ(parse(text)->host_file, "h") << text;
  }
  EXPECT_EQ(parse("--nodes 2 p")->nodes, 2);
}

TEST(Spellings, OfTheDirectoryAndTheLabel) {
  for (const char* text : {"--wdir d p", "-wdir d p", "-wd d p", "-D d p", "--chdir=d p"}) {
    EXPECT_EQ(parse(text)->programs[0].wdir, "d") << text;
  }
  for (const char* text : {"-l p", "--label p", "--tag-output p", "-prepend-rank p"}) {
    EXPECT_TRUE(parse(text)->label) << text;
  }
}

TEST(Spellings, OfVariables) {
  for (const char* text : {"-x A=1 p", "-env A 1 p", "-env A=1 p", "-genv A 1 p", "--genv A=1 p"}) {
    const auto options = parse(text);
    ASSERT_TRUE(options.ok()) << text << ": " << options.status();
    EXPECT_THAT(options->programs[0].exports, ElementsAre("A=1")) << text;
    EXPECT_THAT(options->programs[0].command, ElementsAre("p")) << text;
  }
  EXPECT_THAT(parse("-envlist A,B p")->programs[0].exports, ElementsAre("A", "B"));
  // -genv applies to all programs, and -env, of one program, comes later and overrides it.
  const auto both = parse("-env A 2 -genv A 1 -genvlist C -n 1 p : -n 1 -env B 3 q");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->programs[0].exports, ElementsAre("A=1", "C", "A=2"));
  EXPECT_THAT(both->programs[1].exports, ElementsAre("A=1", "C", "B=3"));
}

TEST(Spellings, MistakesAreNamedAsTheyWereWritten) {
  const std::pair<const char*, const char*> rows[] = {
      {"-N zero p", "-N"},
      {"--ntasks zero p", "--ntasks"},
      {"-genv A", "-genv wants two values"},
      {"-genv", "-genv wants a value"},
      {"-genv =1 p", "names no variable"},
      {"-n 1 p : -n 1 -genv A 1 q", "-genv applies to the whole job"},
      {"-n 1 p : -n 1 -hosts a q", "-hosts applies to the whole job"},
      {"--nodelist n[1 p", "--nodelist"},
  };
  for (const auto& [text, says] : rows) {
    const auto options = parse(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(says)) << text;
  }
}

TEST(Spellings, OptionsThatLcrunLacksGetAdvice) {
  const std::pair<const char*, const char*> rows[] = {
      {"--mca btl tcp p", "--mca is an option of Open MPI that lcrun does not have"},
      {"--time=5 p", "--timeout SECONDS"},
      {"-t 5 p", "--timeout SECONDS"},
      {"-c4 p", "--bind-to core"},
      {"-n 2 --export=ALL p", "-x NAME"},
      {"-configfile x", "':' between them"},
      {"--allow-run-as-root p", "leave it out"},
      {"-n 1 p : -launcher ssh q", "--launch-agent"},
  };
  for (const auto& [text, says] : rows) {
    const auto options = parse(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(says)) << text;
  }
  // The arguments of the program are its own.
  EXPECT_TRUE(parse("p --mca --time").ok());
}

// No name has two meanings, and each spelling is one of an option.
TEST(Spellings, AreUnique) {
  std::set<std::string> names;
  std::set<std::string> options;
  const auto add = [&](std::string_view name) {
    EXPECT_TRUE(names.insert(std::string(name)).second) << name;
  };
  for (const option_spec& spec : option_specs()) {
    if (std::string_view(spec.name).size() > 1) add(spec.name);
    if (spec.letter != 0) add(std::string_view(&spec.letter, 1));
    options.insert(spec.name);
  }
  for (const spelling& other : spellings()) {
    EXPECT_EQ(options.count(other.option), 1u) << other.option;
    if (std::string_view(other.name) != "n") add(other.name);
    if (other.letter != 0) add(std::string_view(&other.letter, 1));
  }
  for (const foreign_option& option : foreign_options()) {
    for (std::string_view name : base::StrSplit(option.names, ' ')) add(name);
  }
}

// Both list every spelling, and the page what to write instead of the options that are missing.
TEST(Spellings, AreDocumented) {
  const std::string page = read_all("docs/running.md");
  const std::string manual = read_all("docs/man/lcrun.1");
  const auto in_page = [&](std::string_view name, bool letter) {
    const std::string dashed = base::StrCat(letter ? "-" : "--", name);
    EXPECT_THAT(page, testing::AnyOf(HasSubstr("`" + dashed + "`"), HasSubstr("`" + dashed + " ")));
  };
  for (const spelling& other : spellings()) {
    in_page(other.name, false);
    EXPECT_THAT(manual, HasSubstr(base::StrCat(".Fl -", other.name, " ")));
    if (other.letter != 0) in_page(std::string_view(&other.letter, 1), true);
  }
  for (const foreign_option& option : foreign_options()) {
    for (std::string_view name : base::StrSplit(option.names, ' ')) {
      in_page(name, name.size() == 1);
    }
  }
}

}  // namespace
}  // namespace lci::launcher
