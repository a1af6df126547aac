// The command line of the launch agent, which starts a program on another host.
#ifndef LCI_TOOLS_LAUNCHER_AGENT_H_
#define LCI_TOOLS_LAUNCHER_AGENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

// Never asks for a password, and does not wait long for a host that does not answer.
inline constexpr char default_agent[] = "ssh -o BatchMode=yes -o ConnectTimeout=20";

// Splits a text into words as a shell does, at spaces, with '...', "..." and backslashes, but
// without expansion. Returns InvalidArgument for an open quote, and if there is no word.
base::StatusOr<std::vector<std::string>> split_words(std::string_view text);

// Words as a command of a shell, each quoted if necessary.
std::string shell_command(const std::vector<std::string>& words);

// Returns the command that runs `program` (a path and arguments) on `host`. In the words of
// `agent`, %h stands for the host and %% for a percent sign; without %h the host follows the words,
// as for ssh. The agent must pass its standard input on, so `docker exec` gets the option -i. With
// ssh, rsh and oarsh, a shell of the other host reads the command, so the words are quoted for that
// shell.
std::vector<std::string> agent_command(const std::vector<std::string>& agent,
                                       const std::string& host,
                                       const std::vector<std::string>& program);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_AGENT_H_
