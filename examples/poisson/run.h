// One run of the program, over any transport.
#ifndef EXAMPLES_POISSON_RUN_H_
#define EXAMPLES_POISSON_RUN_H_

#include <string>

#include "examples/poisson/options.h"
#include "examples/poisson/transport.h"

namespace poisson {

struct outcome {
  bool good = true;
  std::string text;  // for standard output if good, else for standard error; the same on all ranks
};

// Collective. `program` is what the output calls it. Throws usage_error if the grid can't be
// divided between the ranks.
outcome run(const options& chosen, const std::string& program, transport& network);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_RUN_H_
