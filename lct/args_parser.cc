#include <getopt.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lct/lct.h"

namespace {

struct word {
  std::string text;
  int value;
};

struct parsed_option {
  std::string name;
  int has_arg;
  int* value;
  std::vector<word> words;

  // Returns the word for the current value; null if there is none.
  const std::string* current_word() const {
    for (const word& each : words) {
      if (each.value == *value) return &each.text;
    }
    return nullptr;
  }

  int value_of(const char* text) const {
    for (const word& each : words) {
      if (each.text == text) return each.value;
    }
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < INT_MIN || number > INT_MAX) {
      throw std::invalid_argument(error_of(text));
    }
    return static_cast<int>(number);
  }

 private:
  std::string error_of(const char* text) const {
    std::string error = "the value '" + std::string(text) + "' of the option --" + name + " is ";
    error += words.empty() ? "not an integer from " : "neither an integer from ";
    error += std::to_string(INT_MIN) + " to " + std::to_string(INT_MAX);
    for (size_t i = 0; i < words.size(); ++i) {
      error += (i == 0 ? " nor one of '" : ", '") + words[i].text + "'";
    }
    return error;
  }
};

class args_parser {
 public:
  void add(parsed_option added) {
    for (const parsed_option& option : options_) {
      if (option.name != added.name) continue;
      LCT_Warn(LCT_log_ctx_default, "the option --%s was added before; the first one is kept\n",
               added.name.c_str());
      return;
    }
    options_.push_back(std::move(added));
  }

  void parse(int argc, char* argv[]) {
    program_ = argv[0] == nullptr ? "" : argv[0];
    int parsed_index = 0;  // getopt_long stores the index of the parsed option here
    std::vector<struct option> known;
    for (size_t i = 0; i < options_.size(); ++i) {
      known.push_back(
          {options_[i].name.c_str(), options_[i].has_arg, &parsed_index, static_cast<int>(i)});
    }
    known.push_back({nullptr, 0, nullptr, 0});
    optind = 0;  // starts a new command line
    for (;;) {
      const int result = ::getopt_long(argc, argv, "", known.data(), nullptr);
      if (result == -1) return;
      if (result != 0) continue;  // getopt_long has printed an error
      const parsed_option& option = options_[static_cast<size_t>(parsed_index)];
      // optarg is null without has_arg, and for an optional argument that is missing.
      *option.value = ::optarg == nullptr ? 1 : option.value_of(::optarg);
    }
  }

  std::string print(bool verbose) const {
    std::string text = verbose ? "" : "ArgsParser: { \"exe\": \"" + program_ + "\"";
    for (const parsed_option& option : options_) {
      const std::string number = std::to_string(*option.value);
      const std::string* const word = option.current_word();
      if (verbose) {
        text += "ArgsParser: " + option.name + " = " + number;
        if (word != nullptr) text += "(" + *word + ")";
        text += "\n";
      } else {
        text += ", \"" + option.name + "\": " + (word == nullptr ? number : "\"" + *word + "\"");
      }
    }
    return verbose ? text : text + " }\n";
  }

 private:
  std::string program_;
  std::vector<parsed_option> options_;
};

args_parser& parser_of(LCT_args_parser_t parser) {
  LCT_Assert(LCT_log_ctx_default, parser != nullptr, "the parser is null\n");
  return *static_cast<args_parser*>(parser);
}

}  // namespace

LCT_args_parser_t LCT_args_parser_alloc() { return new args_parser; }

void LCT_args_parser_free(LCT_args_parser_t parser) { delete static_cast<args_parser*>(parser); }

void LCT_args_parser_add(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr) {
  LCT_args_parser_add_dict(parser, name, has_arg, ptr, nullptr, 0);
}

void LCT_args_parser_add_dict(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr,
                              LCT_dict_str_int_t dict[], int count) {
  LCT_Assert(LCT_log_ctx_default, name != nullptr && *name != '\0', "an option has no name\n");
  LCT_Assert(LCT_log_ctx_default, ptr != nullptr,
             "ptr, which receives the value of the option --%s, is null\n", name);
  LCT_Assert(LCT_log_ctx_default,
             has_arg == no_argument || has_arg == required_argument || has_arg == optional_argument,
             "has_arg of the option --%s is %d; it may be no_argument, required_argument or "
             "optional_argument\n",
             name, has_arg);
  parsed_option added{name, has_arg, ptr, {}};
  for (int i = 0; i < count; ++i) {
    LCT_Assert(LCT_log_ctx_default, dict[i].key != nullptr, "word %d of the option --%s is null\n",
               i, name);
    added.words.push_back({dict[i].key, dict[i].val});
  }
  parser_of(parser).add(std::move(added));
}

void LCT_args_parser_parse(LCT_args_parser_t parser, int argc, char* argv[]) {
  LCT_Assert(LCT_log_ctx_default, argc > 0 && argv != nullptr,
             "there is no command line: argc is %d\n", argc);
  parser_of(parser).parse(argc, argv);
}

void LCT_args_parser_print(LCT_args_parser_t parser, bool verbose) {
  std::fputs(parser_of(parser).print(verbose).c_str(), stdout);
}
