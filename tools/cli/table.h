// What the reader and the help have in common.
#ifndef TOOLS_CLI_TABLE_H_
#define TOOLS_CLI_TABLE_H_

#include "tools/cli/cli.h"

namespace lci::cli {

// The options that every command has; what they accept is up to the caller.
option help_option();
option version_option();

}  // namespace lci::cli

#endif  // TOOLS_CLI_TABLE_H_
