#include "tools/launcher/options.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "tools/cli/cli.h"
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

TEST(Stats, AreAVariableOfAllRanks) {
  const auto both = parse("--stats -n 1 p : -n 1 -x LCI_STATS=0 q");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->programs[0].exports, ElementsAre("LCI_STATS=1"));
  // The later one counts.
  EXPECT_THAT(both->programs[1].exports, ElementsAre("LCI_STATS=1", "LCI_STATS=0"));
  EXPECT_TRUE(parse("p")->programs[0].exports.empty());
  const char* environment[] = {"LCRUN_STATS=1", nullptr};
  const char* argv[] = {"lcrun", "p"};
  const auto from_variable = parse_options(2, argv, environment);
  ASSERT_TRUE(from_variable.ok()) << from_variable.status();
  EXPECT_THAT(from_variable->programs[0].exports, ElementsAre("LCI_STATS=1"));
}

TEST(Spellings, MistakesAreNamedAsTheyWereWritten) {
  const std::pair<const char*, const char*> rows[] = {
      {"-N zero p", "-N"},
      {"--ntasks zero p", "--ntasks"},
      {"-genv A", "-genv: its value is missing; it must be NAME VALUE or NAME=VALUE"},
      {"-genv", "-genv: its value is missing"},
      {"-genv =1 p", "-genv =1: must be NAME VALUE"},
      {"-envlist A,=1 p", "-envlist A,=1: must be NAME"},
      {"--pernode=2 p", "--pernode takes no value"},
      {"--cpu-bind=all p", "--cpu-bind all: must be none, no, cores"},
      {"-n 1 p : -n 1 -genv A 1 q", "-genv applies to the whole job"},
      {"-n 1 p : -n 1 -hosts a q", "-hosts applies to the whole job"},
      {"--nodelist n[1 p", "--nodelist n[1: must be a list of hosts"},
      {"--lable p", "unknown option --lable; did you mean --label?"},
      {"--grace soon p", "--grace soon: must be a number from 0"},
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

// All options in front of the first program.
struct all_options {
  launch_options job;
  std::vector<cli::option> own = program_option_table(&job.programs[0]);
  std::vector<cli::option> spellings = program_spellings(&job.programs[0]);

  all_options() {
    for (cli::option& one : job_option_table(&job)) own.push_back(std::move(one));
    for (cli::option& one : job_spellings(&job)) spellings.push_back(std::move(one));
  }
};

// No name has two meanings.
TEST(Spellings, AreUnique) {
  const all_options all;
  std::set<std::string_view> names;
  const std::vector<cli::option> foreign = foreign_options();
  for (const std::vector<cli::option>* table : {&all.own, &all.spellings, &foreign}) {
    for (const cli::option& option : *table) {
      for (std::string_view name : cli::names_of(option)) {
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
  }
}

// The page and the manual list every spelling. The page also lists the replacements of missing
// options.
TEST(Spellings, AreDocumented) {
  const std::string page = read_all("docs/running.md");
  const std::string manual = read_all("docs/man/lcrun.1");
  const auto in_page = [&](std::string_view name) {
    EXPECT_THAT(page, testing::AnyOf(HasSubstr(base::StrCat("`", name, "`")),
                                     HasSubstr(base::StrCat("`", name, " "))));
  };
  const all_options all;
  for (const cli::option& option : all.spellings) {
    for (std::string_view name : cli::names_of(option)) {
      in_page(name);
      EXPECT_THAT(manual, HasSubstr(base::StrCat("Fl ", name.substr(1), " ")));
    }
  }
  for (const cli::option& option : foreign_options()) {
    for (std::string_view name : cli::names_of(option)) in_page(name);
  }
}

TEST(Variables, SetTheirOption) {
  const auto parsed = [](std::vector<const char*> environment) {
    environment.push_back(nullptr);
    const char* argv[] = {"lcrun", "-l", "p"};
    return parse_options(3, argv, environment.data());
  };
  const auto options =
      parsed({"LCRUN_NP=3", "LCRUN_MAP_BY=ppr:2:node", "LCRUN_X=A=1;B", "LCRUN_TIMEOUT=0.0001",
              "LCRUN_STDIN=none", "LCRUN_LABEL=0", "LCRUN_GRACE="});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->programs[0].ranks, 3);
  EXPECT_EQ(options->per_host, 2);
  EXPECT_THAT(options->programs[0].exports, ElementsAre("A=1", "B"));
  EXPECT_EQ(options->timeout.count(), 1);
  EXPECT_EQ(options->stdin_rank, launch_options::no_rank);
  EXPECT_TRUE(options->label);
  for (const auto& [variable, says] : std::vector<std::pair<const char*, const char*>>{
           {"LCRUN_NP=0", "LCRUN_NP=0: must be a number from 1 to 1000000"},
           {"LCRUN_LABEL=maybe", "LCRUN_LABEL=maybe: must be 1, 0"},
           {"LCRUN_X=A;=1", "LCRUN_X=A;=1: must be NAME or NAME=VALUE"}}) {
    EXPECT_EQ(std::string(parsed({variable}).status().message()).rfind(says, 0), 0u) << variable;
  }
}

TEST(Variables, ThatNoOptionHasAreUnknown) {
  const char* environment[] = {"LCRUN_NP=1", "LCRUN_X=A",     "LCRUN_NTASKS=1",
                               "LCI_RANK=0", "LCRUN_LABLE=1", nullptr};
  EXPECT_THAT(unknown_variables(environment), ElementsAre("LCRUN_NTASKS", "LCRUN_LABLE"));
}

}  // namespace
}  // namespace lci::launcher
