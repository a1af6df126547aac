// What the reader and the help have in common.
#ifndef TOOLS_CLI_TABLE_H_
#define TOOLS_CLI_TABLE_H_

#include <string_view>
#include <vector>

#include "tools/cli/cli.h"

namespace lci::cli {

// "-n", "--np", ...; they refer to the option.
std::vector<std::string_view> names_of(const option& option);

// The options that every command has; what they accept is up to the caller.
option help_option();
option version_option();

}  // namespace lci::cli

#endif  // TOOLS_CLI_TABLE_H_
