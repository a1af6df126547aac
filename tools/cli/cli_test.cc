#include "tools/cli/cli.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class color { red, green };
constexpr word<color> colors[] = {{"red", color::red}, {"green", color::green}};
constexpr word<int> explained[] = {
    {"one", 1, "the first of a few words that fill more than a line"}, {"fifteen", 15, "the last"}};

// A program with an option of each kind.
struct everything {
  bool quiet = false;
  bool verbose = false;
  int threads = 4;
  uint64_t memory = 8192;
  std::optional<uint64_t> cache;
  double seconds = 0.5;
  std::vector<size_t> sizes;
  std::vector<int> ranks;
  color paint = color::green;
  int count = 1;
  std::string file;
  std::vector<std::string> parts;
  std::vector<std::string> variables;

  command made() {
    return {"test [options]",
            "Tests.",
            {
                {"-q, --quiet", "", "say nothing", flag(&quiet)},
                {"-v, --verbose", "", "say more", flag(&verbose)},
                {"-t, -th, --threads, --workers", "N", "threads of each rank",
                 number(1, 1024, &threads)},
                {"--memory", "BYTES", "memory", bytes(16, uint64_t{1} << 30, &memory)},
                {"--cache", "BYTES", "cache", bytes(0, uint64_t{1} << 40, &cache)},
                {"--seconds", "S", "time", real(0, 60, &seconds)},
                {"--size", "N|A:B", "sizes", size_range(&sizes).with_default("by test")},
                section("Others"),
                {"--ranks", "N|A:B", "ranks", number_range(1, 9, &ranks)},
                {"--color", "COLOR", "the color", choice(colors, &paint)},
                {"--count", "COUNT", "how many", choice(explained, &count)},
                {"--file", "FILE", "a file", text(&file)},
                {"--parts", "A,B", "parts", list(&parts)},
                {"-x", "NAME", "a variable", list(&variables, 0)},
            },
            "Notes."};
  }
};

arguments parse_words(const command& command, const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"program"};
  for (const std::string& one : words) argv.push_back(one.c_str());
  return parse(command, static_cast<int>(argv.size()), argv.data());
}

everything parsed(const std::vector<std::string>& words) {
  everything all;
  parse_words(all.made(), words);
  return all;
}

std::string error_of(const command& command, const std::vector<std::string>& words) {
  try {
    parse_words(command, words);
  } catch (const usage_error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of(const std::vector<std::string>& words) {
  everything all;
  return error_of(all.made(), words);
}

TEST(parse, leaves_the_defaults_where_nothing_is_given) {
  const everything all = parsed({});
  EXPECT_FALSE(all.quiet);
  EXPECT_EQ(all.threads, 4);
  EXPECT_FALSE(all.cache.has_value());
  EXPECT_EQ(all.paint, color::green);
}

TEST(parse, reads_a_value_in_every_spelling) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--threads", "7"},
                                             {"--threads=7"},
                                             {"-t", "7"},
                                             {"-t7"},
                                             {"-qt7"},
                                             {"-th", "7"},
                                             {"-th=7"},
                                             {"--workers", "7"},
                                             {"--thr", "7"},
                                             {"--t=7"},
                                             {"-t", "6", "-t", "7"}}) {
    EXPECT_EQ(parsed(words).threads, 7) << words[0];
  }
  EXPECT_EQ(parsed({"--file=a=b"}).file, "a=b");
  EXPECT_EQ(parsed({"--file", "--quiet"}).file, "--quiet");
  const everything flags = parsed({"-qv"});
  EXPECT_TRUE(flags.quiet && flags.verbose);
}

TEST(parse, reads_every_kind) {
  const everything all = parsed(
      {"--memory", "4k",      "--cache=2G", "--seconds", "1e-1",    "--size", "512:2K", "--ranks",
       "2:4",      "--color", "red",        "--count",   "fifteen", "--file", "f",      "--parts",
       "a,b",      "--parts", "c",          "-x",        "A=1,2",   "-xB"});
  EXPECT_EQ(all.memory, 4096U);
  EXPECT_EQ(all.cache.value(), uint64_t{2} << 30);
  EXPECT_EQ(all.seconds, 0.1);
  EXPECT_THAT(all.sizes, ElementsAre(512, 1024, 2048));
  EXPECT_THAT(all.ranks, ElementsAre(2, 3, 4));
  EXPECT_EQ(all.paint, color::red);
  EXPECT_EQ(all.count, 15);
  EXPECT_EQ(all.file, "f");
  EXPECT_THAT(all.parts, ElementsAre("a", "b", "c"));
  EXPECT_THAT(all.variables, ElementsAre("A=1,2", "B"));
  EXPECT_THAT(parsed({"--size", "0"}).sizes, ElementsAre(0));
  EXPECT_THAT(parsed({"--size", "1G"}).sizes, ElementsAre(size_t{1} << 30));
  EXPECT_THAT(parsed({"--size", "8:8"}).sizes, ElementsAre(8));
  EXPECT_THAT(parsed({"--ranks", "9"}).ranks, ElementsAre(9));
  EXPECT_STREQ(name_of(colors, color::red), "red");
}

// A value as errors show it.
std::string shown(const std::string& text) { return text.empty() ? "\"\"" : text; }

TEST(parse, refuses_what_is_no_such_number) {
  for (const char* text :
       {"", "0", "1025", "-1", "+2", " 2", "2 ", "1.5", "x", "1K", "99999999999999999999"}) {
    EXPECT_EQ(error_of({"--threads", text}),
              "--threads " + shown(text) + ": must be a number from 1 to 1024");
  }
  EXPECT_EQ(error_of({"-t", "0"}), "-t 0: must be a number from 1 to 1024");
  for (const char* text : {"", "K", "15", "2G", "4T", "17179869184G", "-1"}) {
    EXPECT_EQ(
        error_of({"--memory", text}),
        "--memory " + shown(text) + ": must be a number from 16 to 1G, which K, M or G may follow");
  }
  for (const char* text : {"", "x", "nan", "inf", "-1", "60.1", " 1", "1s"}) {
    EXPECT_EQ(error_of({"--seconds", text}),
              "--seconds " + shown(text) + ": must be a number from 0 to 60");
  }
}

TEST(parse, refuses_what_is_no_such_range) {
  for (const char* text : {"", "x", "-8", "8 ", "2G", "0:8", "3:8", "8:9", "16:8", "8:", ":8",
                           "8:16:32", "1K:1", "99999999999999999999", "99999999999999999G"}) {
    EXPECT_THAT(error_of({"--size", text}),
                HasSubstr("--size " + shown(text) + ": must be N, or A:B"));
  }
  for (const char* text : {"0", "10", "2:1", "x", "", "1:", ":2", "1:2:3", "-1", "5:4294967297"}) {
    EXPECT_EQ(error_of({"--ranks", text}),
              "--ranks " + shown(text) + ": must be N, or A:B with A <= B, numbers from 1 to 9");
  }
}

TEST(parse, names_the_words_that_are_allowed) {
  EXPECT_EQ(error_of({"--color", "blue"}), "--color blue: must be red or green");
  EXPECT_EQ(error_of({"--color="}), "--color \"\": must be red or green");
  EXPECT_EQ(error_of({"--file="}), "--file \"\": must be a text that is not empty");
  EXPECT_EQ(error_of({"--parts", "a,,b"}), "--parts a,,b: must be texts with \",\" between them");
  EXPECT_EQ(error_of({"-x", ""}), "-x \"\": must be a text that is not empty");
}

TEST(parse, says_which_option_lacks_its_value_or_takes_none) {
  EXPECT_EQ(error_of({"-q", "--color"}), "--color: its value is missing; it must be red or green");
  EXPECT_THAT(error_of({"-qt"}), HasSubstr("-t: its value is missing"));
  EXPECT_EQ(error_of({"--quiet=yes"}), "--quiet=yes: --quiet takes no value");
  EXPECT_EQ(error_of({"--help=all"}), "--help=all: --help takes no value");
}

TEST(parse, finds_the_option_that_was_probably_meant) {
  EXPECT_EQ(error_of({"--treads=3"}), "unknown option --treads; did you mean --threads?");
  EXPECT_EQ(error_of({"--colour", "red"}), "unknown option --colour; did you mean --color?");
  EXPECT_EQ(error_of({"--bogus"}), "unknown option --bogus; --help lists the options");
  EXPECT_EQ(error_of({"-z"}), "unknown option -z; --help lists the options");
  EXPECT_EQ(error_of({"-qz"}), "unknown option -z in -qz; --help lists the options");
  EXPECT_EQ(error_of({"--co", "x"}), "--co may be --color or --count");
}

TEST(parse, treats_operands_as_the_command_says) {
  everything all;
  command program = all.made();
  EXPECT_EQ(error_of(program, {"-q", "word"}),
            "unexpected argument word; --help lists the options");
  EXPECT_EQ(error_of(program, {"--", "--quiet"}),
            "unexpected argument --quiet; --help lists the options");
  EXPECT_THAT(parse_words(program, {"-q", "--"}).operands, IsEmpty());

  program.takes = operands::anywhere;
  EXPECT_THAT(parse_words(program, {"a", "-t", "9", "-", "--", "-v"}).operands,
              ElementsAre("a", "-", "-v"));
  EXPECT_EQ(all.threads, 9);
  EXPECT_FALSE(all.verbose);

  program.takes = operands::end_options;
  EXPECT_THAT(parse_words(program, {"-t", "8", "a", "-v", "--help"}).operands,
              ElementsAre("a", "-v", "--help"));
  EXPECT_EQ(all.threads, 8);
  EXPECT_FALSE(all.verbose);
  EXPECT_THAT(parse_words(program, {"--", "-v"}).operands, ElementsAre("-v"));
}

TEST(parse, takes_long_names_with_one_dash_where_the_command_says_so) {
  everything all;
  command program = all.made();
  EXPECT_THAT(error_of(program, {"-threads", "3"}), HasSubstr("-t hreads: must be a number"));
  program.single_dash = true;
  parse_words(program, {"-workers", "3", "-color=red", "-qv"});
  EXPECT_EQ(all.threads, 3);
  EXPECT_EQ(all.paint, color::red);
  EXPECT_TRUE(all.quiet && all.verbose);
  EXPECT_EQ(error_of(program, {"-workesr", "3"}),
            "unknown option -workesr; did you mean --workers?");
}

TEST(parse, takes_an_assignment_in_one_word_or_two) {
  std::vector<std::string> values;
  command program = {"test", "", {{"--env", "NAME VALUE", "", list(&values, 0)}}};
  program.options[0].accepts.is_assignment = true;
  program.takes = operands::end_options;
  EXPECT_THAT(parse_words(program, {"--env", "A", "1", "--env=B=2", "--env", "C=3", "x"}).operands,
              ElementsAre("x"));
  EXPECT_THAT(values, ElementsAre("A=1", "B=2", "C=3"));
  EXPECT_THAT(error_of(program, {"--env", "A"}), HasSubstr("--env: its value is missing"));
  EXPECT_THAT(error_of(program, {"--env"}), HasSubstr("--env: its value is missing"));
}

TEST(parse, refuses_options_that_say_so) {
  everything all;
  command program = all.made();
  program.single_dash = true;
  program.options.push_back({"-o, --threading", "", "", {}, "is not for this program"});
  for (const char* word : {"-o", "-qo", "-ofile", "--threading", "--threading=4", "-threading"}) {
    EXPECT_THAT(error_of(program, {word, "4"}), HasSubstr(" is not for this program")) << word;
  }
  EXPECT_EQ(error_of(program, {"-ofile"}), "-o is not for this program");
  EXPECT_EQ(error_of(program, {"--threadi"}), "--threading is not for this program");
  // A prefix stands for an option that is not refused, and no error suggests one that is.
  EXPECT_EQ(error_of(program, {"--thread", "9"}), "no error");
  EXPECT_EQ(all.threads, 9);
  EXPECT_EQ(error_of(program, {"--threadinh"}),
            "unknown option --threadinh; did you mean --threads?");
}

TEST(parse, stops_at_a_request_for_help_or_the_version) {
  everything all;
  command program = all.made();
  EXPECT_EQ(parse_words(program, {"-q"}).wanted, request::run);
  for (const char* spelling : {"--help", "-h", "--hel", "-qh"}) {
    EXPECT_EQ(parse_words(program, {spelling, "--bogus"}).wanted, request::help) << spelling;
  }
  EXPECT_THAT(error_of(program, {"-V"}), HasSubstr("unknown option -V"));
  program.version = "test 1.2";
  for (const char* spelling : {"--version", "-V"}) {
    EXPECT_EQ(parse_words(program, {spelling}).wanted, request::version);
  }
  EXPECT_EQ(error_of(program, {"--versoin"}), "unknown option --versoin; did you mean --version?");
}

TEST(names_of, are_those_of_the_option) {
  everything all;
  const command program = all.made();
  EXPECT_THAT(names_of(program.options[2]), ElementsAre("-t", "-th", "--threads", "--workers"));
  EXPECT_THAT(names_of(program.options.back()), ElementsAre("-x"));
  EXPECT_THAT(names_of(section("Others")), IsEmpty());
}

TEST(set_option, calls_the_option_what_its_source_is) {
  everything all;
  const command program = all.made();
  set_option(program.options[0], "TEST_QUIET", "yes");
  EXPECT_TRUE(all.quiet);
  set_option(program.options[0], "TEST_QUIET", "0");
  EXPECT_FALSE(all.quiet);
  try {
    set_option(program.options[2], "TEST_THREADS", "x");
    FAIL();
  } catch (const usage_error& error) {
    EXPECT_STREQ(error.what(), "TEST_THREADS=x: must be a number from 1 to 1024");
  }
  EXPECT_THROW(set_option(program.options[0], "TEST_QUIET", "maybe"), usage_error);
}

TEST(help, is_aligned_and_names_the_defaults) {
  everything all;
  command program = all.made();
  program.version = "test 1.2";
  EXPECT_EQ(help(program),
            R"(usage: test [options]

Tests.

  -q, --quiet         say nothing
  -v, --verbose       say more
  -t, -th, --threads, --workers N
                      threads of each rank (default: 4)
      --memory BYTES  memory (default: 8K)
      --cache BYTES   cache
      --seconds S     time (default: 0.5)
      --size N|A:B    sizes (default: by test)

Others
      --ranks N|A:B   ranks
      --color COLOR   the color: red or green (default: green)
      --count COUNT   how many (default: one)
                        one      the first of a few words that fill more than a
                                 line
                        fifteen  the last
      --file FILE     a file
      --parts A,B     parts
  -x NAME             a variable

  -V, --version       print the version
  -h, --help          print this text

Notes.
)");
}

TEST(help, omits_options_without_a_text) {
  bool on = false;
  const command program = {"test", "", {{"--old-name", "", "", flag(&on)}, section("Others")}};
  EXPECT_EQ(help(program), "usage: test\n\n\nOthers\n\n  -h, --help  print this text\n");
  parse_words(program, {"--old-name"});
  EXPECT_TRUE(on);
}

TEST(help, breaks_lines_at_spaces_and_keeps_those_that_are_given) {
  command program = {"test", "", {{"--flag", "", "", {}}}};
  program.about = std::string(40, 'a') + " " + std::string(40, 'b') + "\n\n  indented " +
                  std::string(68, 'd') + " e\n";
  program.options[0].help = "first line\nsecond " + std::string(70, 'c') + " third";
  const std::string indent(15, ' ');
  EXPECT_THAT(help(program), HasSubstr(std::string(40, 'a') + "\n" + std::string(40, 'b') +
                                       "\n\n  indented " + std::string(68, 'd') + "\n  e\n\n"));
  EXPECT_THAT(help(program),
              HasSubstr("first line\n" + std::string(14, ' ') + "second\n" + std::string(14, ' ') +
                        std::string(70, 'c') + "\n" + std::string(14, ' ') + "third\n"));
}

// Output.

void print_to_a_full_disk(const char* earlier, const char* last) {
  if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(3);
  if (*earlier != 0) {
    std::fputs(earlier, stdout);
    std::fflush(stdout);
  }
  std::_Exit(print("program", last));
}

TEST(print, says_that_output_is_not_written) {
  const auto failed = ::testing::ExitedWithCode(1);
  EXPECT_EXIT(print_to_a_full_disk("", "text"), failed,
              "^program: can't write to the standard output: No space left on device\n$");
  EXPECT_EXIT(print_to_a_full_disk("earlier text", ""), failed, "can't write");
  EXPECT_EXIT(std::_Exit(print("program", "")), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace lci::cli
