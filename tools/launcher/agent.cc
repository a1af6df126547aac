#include "tools/launcher/agent.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace lci::launcher {
namespace {

absl::string_view base_name(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

// For a shell; as it is where that changes nothing.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("/._-+=:,@%", absl::string_view(&c, 1));
  });
  if (plain) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> split_words(absl::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && absl::ascii_isspace(static_cast<unsigned char>(c))) {
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
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" has an open quote"));
  }
  if (words.empty() || words[0].empty()) {
    return absl::InvalidArgumentError("an empty text names no command");
  }
  return words;
}

std::vector<std::string> agent_command(const std::vector<std::string>& agent,
                                       const std::string& host,
                                       const std::vector<std::string>& program) {
  std::vector<std::string> command;
  bool host_said = false;
  for (const std::string& word : agent) {
    const std::string filled = absl::StrReplaceAll(word, {{"%h", host}, {"%%", "%"}});
    host_said |= absl::StrContains(absl::StrReplaceAll(word, {{"%%", ""}}), "%h");
    command.push_back(filled);
  }
  const std::string name(base_name(agent[0]));
  if ((name == "docker" || name == "podman" || name == "kubectl") && command.size() > 1 &&
      command[1] == "exec") {
    command.insert(command.begin() + 2, "-i");
  }
  if (!host_said) command.push_back(host);
  const bool through_shell = name == "ssh" || name == "rsh";
  for (const std::string& word : program) command.push_back(through_shell ? quoted(word) : word);
  return command;
}

}  // namespace lci::launcher
