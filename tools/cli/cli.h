// Command lines of programs: a table of options says what the arguments may be, and what --help
// prints.
//
//   int threads = 1;
//   bool validate = false;
//   const cli::command command = {
//       "lcrun -n RANKS measure [options]",
//       "Measures something.",
//       {
//           {"-t, --threads", "N", "threads of each rank", cli::number(1, 1024, &threads)},
//           {"--validate", "", "check the data", cli::flag(&validate)},
//       }};
//   const cli::arguments given = cli::parse(command, argc, argv);
//   if (given.wanted == cli::request::help) return cli::print("measure", cli::help(command));
//
// An option is given as --name VALUE, --name=VALUE, -n VALUE or -nVALUE, and flags of one letter
// may share a dash (-vq). A unique prefix of a long name stands for the name. The last use of an
// option counts. "--" ends the options; "-" is no option.
//
// Uses the C++ library alone, so that every program may use it. Thread safety: a command and the
// variables that it refers to belong to one thread at a time; there is no global state.
#ifndef TOOLS_CLI_CLI_H_
#define TOOLS_CLI_CLI_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lci::cli {

// The command line is wrong. The message names the option, its value and what is allowed, or the
// known option whose name is most similar to an unknown one.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Values.

struct word_help {
  std::string name;
  std::string help;
};

// The values that an option accepts. The functions below make the usual kinds; a program makes its
// own from the first two members. Variables that a value refers to outlive it.
struct value {
  std::string allowed;  // completes "must be"
  // Stores the value that the text means. Returns false, and stores nothing, if the text is not
  // allowed. May throw usage_error to say more.
  std::function<bool(std::string_view text)> set;
  std::string initial;           // the default, for --help; empty: not mentioned
  std::vector<word_help> words;  // of a choice
  bool is_flag = false;
  // Whether the option may also be given two words, NAME VALUE; set() receives NAME=VALUE.
  bool is_assignment = false;

  // The same value with another text for its default.
  value with_default(std::string text) && {
    initial = std::move(text);
    return std::move(*this);
  }
};

// Takes no value on the command line, and 1/0, true/false, yes/no or on/off in set_option().
value flag(bool* to);

// A whole number without a sign, in [low, high]. `to` is of any arithmetic type that holds `high`,
// or an optional of one. Its value at the time of the call is the default.
template <class T>
value number(uint64_t low, uint64_t high, T* to);
// A whole number in [low, high], which K, M or G (2^10, 2^20, 2^30; in any case) may follow.
template <class T>
value bytes(uint64_t low, uint64_t high, T* to);
// Decimal or scientific, finite, in [low, high].
value real(double low, double high, double* to);

// "N", a number of bytes up to 1 GiB, or "A:B", the powers of two from A to B. Rising.
value size_range(std::vector<size_t>* to);
// "N", or "A:B", all numbers from A to B; in [low, high]. Rising.
value number_range(int low, int high, std::vector<int>* to);

// One word of a list. With help for the words, --help explains each in a line of its own.
template <class T>
struct word {
  const char* name;
  T meaning;
  const char* help = "";
};
// `to` is a T or an optional of it. Its value at the time of the call is the default.
template <class T, class Target>
value choice(const std::vector<word<T>>& words, Target* to);
template <class T, size_t count, class Target>
value choice(const word<T> (&words)[count], Target* to) {
  return choice(std::vector<word<T>>(words, words + count), to);
}
// The name of a meaning; "unknown" if it has none.
template <class T, size_t count>
const char* name_of(const word<T> (&words)[count], const T& meaning) {
  for (const word<T>& one : words) {
    if (one.meaning == meaning) return one.name;
  }
  return "unknown";
}

// Any text that is not empty.
value text(std::string* to);
// Texts with the separator between them. Each use of the option appends; with the separator 0 each
// use appends one text.
value list(std::vector<std::string>* to, char separator = ',');

// A whole number without a sign or spaces. Returns false, and leaves *to alone, if it is none.
bool read_number(std::string_view digits, uint64_t low, uint64_t high, uint64_t* to);
// The powers of two times `from`, up to `to`.
std::vector<size_t> doubling(size_t from, size_t to);

// Commands.

struct option {
  // As they are typed, with ", " between them: "-n, --np, --ntasks". Empty: see section().
  std::string names;
  std::string placeholder;  // what --help calls the value; empty for a flag
  std::string help;  // without a period; --help breaks lines, keeps "\n", and omits an empty one
  value accepts;
  // Not empty: using the option is an error, "NAME refusal". For options of similar programs, and
  // for options that do not apply. No error suggests such an option.
  std::string refusal = "";
};

// The names one by one. They refer to the option.
std::vector<std::string_view> names_of(const option& option);

// A heading of --help for the options that follow it.
option section(std::string title);

// The treatment of operands, the words that are neither options nor their values.
enum class operands {
  refused,
  anywhere,     // among the options
  end_options,  // the first operand ends the options: all words from it on are operands
};

struct command {
  std::string usage;            // of the command line, behind "usage: "
  std::string about;            // paragraphs before the options
  std::vector<option> options;  // --help and --version are added
  std::string notes = "";       // paragraphs after the options
  std::string version = "";     // what --version prints; empty: there is no such option
  operands takes = operands::refused;
  // Whether one dash may stand before a long name, too (-np), as is usual for mpirun. Such a name
  // wins over letters that share a dash.
  bool single_dash = false;
};

enum class request { run, help, version };

struct arguments {
  request wanted = request::run;  // if help or version, later arguments have not been read
  std::vector<std::string> operands;
};

// Reads argv[1] to argv[argc - 1] in order, and sets the variables of the options. Throws
// usage_error; some variables may have been set then.
arguments parse(const command& command, int argc, const char* const* argv);

// Sets an option from elsewhere, such as an environment variable. `source` is what an error calls
// the option. Throws usage_error.
void set_option(const option& option, std::string_view source, std::string_view text);

// The text of --help, in lines of at most 80 columns (longer ones only where a word is longer).
std::string help(const command& command);

// Writes the text to stdout and flushes it. Returns the exit code: 0; or 1, after a message to
// stderr, if this or an earlier output of the program could not be written.
int print(const char* program, std::string_view text);

// Templates.

namespace internal {

// The options that every command has; what they accept is up to the caller.
option help_option();
option version_option();

using store_number = std::function<void(uint64_t)>;
value make_number(uint64_t low, uint64_t high, bool in_bytes, std::optional<uint64_t> initial,
                  store_number store);
value make_choice(std::vector<word_help> words, size_t initial, std::function<void(size_t)> store);

template <class T>
struct number_in {
  using type = T;
  static std::optional<uint64_t> of(const T& number) { return static_cast<uint64_t>(number); }
};
template <class T>
struct number_in<std::optional<T>> {
  using type = T;
  static std::optional<uint64_t> of(const std::optional<T>& number) {
    return number ? number_in<T>::of(*number) : std::nullopt;
  }
};

template <class T>
value make_number(uint64_t low, uint64_t high, bool in_bytes, T* to) {
  using target = typename number_in<T>::type;
  static_assert(std::is_arithmetic_v<target>);
  return make_number(low, high, in_bytes, number_in<T>::of(*to),
                     [to](uint64_t number) { *to = static_cast<target>(number); });
}

}  // namespace internal

template <class T>
value number(uint64_t low, uint64_t high, T* to) {
  return internal::make_number(low, high, false, to);
}

template <class T>
value bytes(uint64_t low, uint64_t high, T* to) {
  return internal::make_number(low, high, true, to);
}

template <class T, class Target>
value choice(const std::vector<word<T>>& words, Target* to) {
  std::vector<word_help> texts;
  std::vector<T> meanings;
  size_t initial = words.size();
  for (const word<T>& one : words) {
    if (*to == one.meaning) initial = texts.size();
    texts.push_back({one.name, one.help});
    meanings.push_back(one.meaning);
  }
  return internal::make_choice(
      std::move(texts), initial,
      [to, meanings = std::move(meanings)](size_t place) { *to = meanings[place]; });
}

}  // namespace lci::cli

#endif  // TOOLS_CLI_CLI_H_
