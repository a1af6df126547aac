// The launch agent: the command that starts a program on another host.
#ifndef LCI_TOOLS_LAUNCHER_AGENT_H_
#define LCI_TOOLS_LAUNCHER_AGENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

// Never asks a person; gives up on a host that does not answer.
inline constexpr char default_agent[] = "ssh -o BatchMode=yes -o ConnectTimeout=20";
// Inside an allocation of Slurm.
inline constexpr char slurm_agent[] =
    "srun --nodes=1 --ntasks=1 --overlap --cpu-bind=none --kill-on-bad-exit=0 --nodelist=%h";

// Words as a shell has them: separated by spaces, with '...', "..." and backslashes; nothing is
// expanded. InvalidArgument for an open quote, and if there is no word.
base::StatusOr<std::vector<std::string>> split_words(std::string_view text);

// The command that runs `program` (a path and arguments) on `host`. In the words of `agent`, %h
// stands for the host and %% for a percent sign; without %h the host follows the words, as ssh
// wants it. The agent must pass its standard input on: `docker exec` gets the option -i that makes
// it do so. ssh has the other side's shell read the command, so words are quoted for that.
std::vector<std::string> agent_command(const std::vector<std::string>& agent,
                                       const std::string& host,
                                       const std::vector<std::string>& program);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_AGENT_H_
