#include "tools/launcher/agent.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::launcher {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Quotes a word for a shell if necessary.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return base::ascii_isalnum(c) || base::StrContains("/._-+=:,@%", c);
  });
  if (plain) return word;
  return base::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

base::StatusOr<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && base::ascii_isspace(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    return base::InvalidArgumentError(base::StrCat("\"", text, "\" has an open quote"));
  }
  if (words.empty() || words[0].empty()) {
    return base::InvalidArgumentError("an empty text names no command");
  }
  return words;
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    base::StrAppend(&command, command.empty() ? "" : " ", quoted(word));
  }
  return command;
}

std::vector<std::string> agent_command(const std::vector<std::string>& agent,
                                       const std::string& host,
                                       const std::vector<std::string>& program) {
  std::vector<std::string> command;
  bool host_said = false;
  for (const std::string& word : agent) {
    const std::string filled = absl::StrReplaceAll(word, {{"%h", host}, {"%%", "%"}});
    host_said |= base::StrContains(absl::StrReplaceAll(word, {{"%%", ""}}), "%h");
    command.push_back(filled);
  }
  const std::string name(base_name(agent[0]));
  if ((name == "docker" || name == "podman" || name == "kubectl") && command.size() > 1 &&
      command[1] == "exec") {
    command.insert(command.begin() + 2, "-i");
  }
  if (!host_said) command.push_back(host);
  const bool through_shell = name == "ssh" || name == "rsh" || name == "oarsh";
  for (const std::string& word : program) command.push_back(through_shell ? quoted(word) : word);
  return command;
}

}  // namespace lci::launcher
