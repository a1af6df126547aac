// The text of --help.
#include <algorithm>

#include "tools/cli/cli.h"

namespace lci::cli {
namespace {

constexpr size_t width = 80;
constexpr size_t max_left = 26;  // of the names of options; longer ones have a line of their own

// Lines of the text from a column on; the first line is the caller's, already up to `at`.
void append_wrapped(std::string_view text, size_t column, size_t at, std::string* to) {
  const auto new_line = [&] {
    *to += '\n';
    at = 0;
  };
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    // Spaces that a line begins with indent all lines that are made of it.
    const size_t indent = column + std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(indent - column);
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      const bool is_first = at <= indent;
      if (!is_first && at + 1 + word.size() > width) {
        new_line();
        continue;
      }
      to->append(is_first ? indent - at : 1, ' ').append(word);
      at = std::max(indent, at + (is_first ? 0 : 1)) + word.size();
      line.remove_prefix(std::min(word.size() + 1, line.size()));
    }
    new_line();
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

std::string left_side(const option& option) {
  const bool has_letter = option.names.size() < 2 || option.names[1] != '-';
  std::string left = (has_letter ? "  " : "      ") + option.names;
  if (!option.placeholder.empty()) left += " " + option.placeholder;
  return left;
}

bool are_explained(const std::vector<word_help>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const word_help& one) { return !one.help.empty(); });
}

void append_words(const std::vector<word_help>& words, size_t column, std::string* to) {
  size_t longest = 0;
  for (const word_help& one : words) longest = std::max(longest, one.name.size());
  for (const word_help& one : words) {
    to->append(column, ' ').append(one.name);
    append_wrapped(one.help, column + longest + 2, column + one.name.size(), to);
  }
}

void append_option(const option& option, size_t column, std::string* to) {
  const std::string left = left_side(option);
  const value& accepts = option.accepts;
  const bool explained = are_explained(accepts.words);
  std::string right = option.help;
  if (!accepts.words.empty() && !explained) right += ": " + accepts.allowed;
  if (!accepts.initial.empty()) right += " (default: " + accepts.initial + ")";
  *to += left;
  const bool fits = left.size() + 2 <= column;
  if (!fits) *to += '\n';
  append_wrapped(right, column, fits ? left.size() : 0, to);
  if (explained) append_words(accepts.words, column + 2, to);
}

void append_paragraphs(std::string_view text, std::string* to) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (!text.empty()) append_wrapped(text, 0, 0, to);
}

}  // namespace

std::vector<std::string_view> names_of(const option& option) {
  constexpr std::string_view separator = ", ";
  std::vector<std::string_view> names;
  for (std::string_view rest = option.names; !rest.empty();) {
    const size_t end = std::min(rest.find(separator), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + separator.size(), rest.size()));
  }
  return names;
}

option internal::help_option() { return {"-h, --help", "", "print this text", {}}; }
option internal::version_option() { return {"-V, --version", "", "print the version", {}}; }

option section(std::string title) { return {"", "", std::move(title), {}}; }

std::string help(const command& command) {
  std::vector<option> all;
  bool has_sections = false;
  for (const option& one : command.options) {
    has_sections = has_sections || one.names.empty();
    if (one.names.empty() || !one.help.empty()) all.push_back(one);
  }
  if (has_sections) all.push_back(section(""));
  if (!command.version.empty()) all.push_back(internal::version_option());
  all.push_back(internal::help_option());

  size_t column = 0;
  for (const option& one : all) {
    const size_t left = left_side(one).size();
    if (left <= max_left) column = std::max(column, left + 2);
  }
  std::string text = "usage: " + command.usage + "\n\n";
  append_paragraphs(command.about, &text);
  if (!command.about.empty()) text += '\n';
  for (const option& one : all) {
    if (!one.names.empty()) {
      append_option(one, column, &text);
    } else {
      text += one.help.empty() ? "\n" : "\n" + one.help + "\n";
    }
  }
  if (!command.notes.empty()) text += '\n';
  append_paragraphs(command.notes, &text);
  return text;
}

}  // namespace lci::cli
