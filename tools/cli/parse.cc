// Reading the arguments.
#include <algorithm>

#include "lci/base/edit_distance.h"
#include "tools/cli/cli.h"

namespace lci::cli {
namespace {

constexpr std::string_view see_help = "; --help lists the options";

std::string text_of(std::string_view text) { return std::string(text); }

bool is_long(std::string_view name) { return name.substr(0, 2) == "--"; }

// An argument that begins with a dash: an option, and its value behind "=".
struct word_parts {
  explicit word_parts(std::string_view word)
      : name(word.substr(0, word.find('='))),
        has_value(name.size() < word.size()),
        value(has_value ? word.substr(name.size() + 1) : std::string_view()) {}

  std::string_view name;
  bool has_value;
  std::string_view value;
};

class reader {
 public:
  reader(const command& command, int argc, const char* const* argv)
      : command_(command), words_(argv + std::min(argc, 1), argv + argc) {
    help_.accepts = flag(&wants_help_);
    version_.accepts = flag(&wants_version_);
    for (const option& one : command.options) add(one);
    add(help_);
    if (!command.version.empty()) add(version_);
  }

  arguments read() {
    while (next_ < words_.size() && !wants_help_ && !wants_version_) {
      const std::string_view word = words_[next_++];
      if (word == "--") {
        take_rest();
      } else if (word.size() > 1 && word[0] == '-') {
        read_option(word);
      } else if (command_.takes == operands::end_options) {
        --next_;
        take_rest();
      } else {
        take_operand(word);
      }
    }
    return {wants_help_      ? request::help
            : wants_version_ ? request::version
                             : request::run,
            std::move(operands_)};
  }

 private:
  struct named_option {
    std::string_view name;
    const option* meant;
  };

  void add(const option& one) {
    for (const std::string_view name : names_of(one)) options_.push_back({name, &one});
  }

  void take_operand(std::string_view word) {
    if (command_.takes == operands::refused) {
      throw usage_error("unexpected argument " + text_of(word) + text_of(see_help));
    }
    operands_.emplace_back(word);
  }

  void take_rest() {
    while (next_ < words_.size()) take_operand(words_[next_++]);
  }

  void read_option(std::string_view word) {
    const word_parts parts(word);
    if (const option* found = find(parts.name); found != nullptr) {
      set_named(*found, parts);
    } else if (is_long(word) || find(word.substr(0, 2)) == nullptr) {
      throw_unknown(parts.name);
    } else {
      read_letters(word);
    }
  }

  void set_named(const option& found, const word_parts& parts) {
    // The whole name, not the prefix of it that was given.
    std::string_view name = parts.name;
    for (const std::string_view one : names_of(found)) {
      if (is_long(name) && is_long(one) && one.substr(0, name.size()) == name) name = one;
    }
    check_usable(found, name);
    if (found.accepts.is_assignment) {
      set_option(found, name, assignment(found, name, parts));
    } else if (!found.accepts.is_flag) {
      set_option(found, name, parts.has_value ? parts.value : next_word(found, name));
    } else if (parts.has_value) {
      throw usage_error(text_of(parts.name) + "=" + text_of(parts.value) + ": " + text_of(name) +
                        " takes no value");
    } else {
      set_option(found, name, "1");
    }
  }

  // Letters that share a dash; the rest behind one with a value is the value.
  void read_letters(std::string_view word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const std::string name = {'-', word[i]};
      const option* const found = find(name);
      if (found == nullptr) {
        throw usage_error("unknown option " + name + " in " + text_of(word) + text_of(see_help));
      }
      check_usable(*found, name);
      if (!found->accepts.is_flag) {
        const std::string_view rest = word.substr(i + 1);
        return set_option(*found, name, rest.empty() ? next_word(*found, name) : rest);
      }
      set_option(*found, name, "1");
    }
  }

  static void check_usable(const option& found, std::string_view name) {
    if (!found.refusal.empty()) throw usage_error(text_of(name) + " " + found.refusal);
  }

  std::string assignment(const option& found, std::string_view name, const word_parts& parts) {
    std::string text = text_of(parts.has_value ? parts.value : next_word(found, name));
    if (text.find('=') == text.npos) text += "=" + text_of(next_word(found, name));
    return text;
  }

  std::string_view next_word(const option& found, std::string_view name) {
    if (next_ < words_.size()) return words_[next_++];
    throw usage_error(text_of(name) + ": its value is missing; it must be " +
                      found.accepts.allowed);
  }

  // By the whole name, or by a unique prefix of a long one. Returns null if there is none.
  const option* find(std::string_view name) const {
    for (const named_option& one : options_) {
      if (one.name == name) return one.meant;
    }
    if (is_long(name)) return find_prefix(name);
    // Another letter would be a flag that shares the dash.
    return command_.single_dash && name.size() > 2 ? find("-" + text_of(name)) : nullptr;
  }

  const option* find_prefix(std::string_view name) const {
    const named_option* found = nullptr;
    const auto is_usable = [](const named_option& one) { return one.meant->refusal.empty(); };
    for (const named_option& one : options_) {
      if (one.name.substr(0, name.size()) != name) continue;
      if (found == nullptr || (!is_usable(*found) && is_usable(one))) {
        found = &one;
      } else if (found->meant != one.meant && is_usable(one)) {
        throw usage_error(text_of(name) + " may be " + text_of(found->name) + " or " +
                          text_of(one.name));
      }
    }
    return found == nullptr ? nullptr : found->meant;
  }

  [[noreturn]] void throw_unknown(std::string_view name) const {
    const std::string meant =
        command_.single_dash && !is_long(name) ? "-" + text_of(name) : text_of(name);
    std::string_view nearest;
    // Most mistakes are a letter or two.
    size_t least = name.size() / 3 + 1;
    for (const named_option& one : options_) {
      if (!one.meant->refusal.empty()) continue;
      const size_t distance = is_long(one.name) ? base::edit_distance(meant, one.name) : least;
      if (distance >= least) continue;
      least = distance;
      nearest = one.name;
    }
    throw usage_error(
        "unknown option " + text_of(name) +
        (nearest.empty() ? text_of(see_help) : "; did you mean " + text_of(nearest) + "?"));
  }

  const command& command_;
  const std::vector<std::string_view> words_;
  size_t next_ = 0;
  bool wants_help_ = false;
  bool wants_version_ = false;
  option help_ = internal::help_option();
  option version_ = internal::version_option();
  std::vector<named_option> options_;
  std::vector<std::string> operands_;
};

}  // namespace

arguments parse(const command& command, int argc, const char* const* argv) {
  return reader(command, argc, argv).read();
}

void set_option(const option& option, std::string_view source, std::string_view text) {
  if (option.accepts.set(text)) return;
  const bool is_option = source.substr(0, 1) == "-";
  throw usage_error(text_of(source) + (is_option ? " " : "=") +
                    (text.empty() ? "\"\"" : text_of(text)) + ": must be " +
                    option.accepts.allowed);
}

}  // namespace lci::cli
