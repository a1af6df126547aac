// The parts of a measuring program around its measurements.
#ifndef BENCHMARKS_PERF_PROGRAM_H_
#define BENCHMARKS_PERF_PROGRAM_H_

#include <functional>
#include <string>

#include "lci.hpp"

namespace perf {

// Calls `body`, which returns the exit code and throws usage_error if the command line is wrong,
// and what LCI throws. Returns what main does.
int run_main(const char* program, const std::function<int()>& body);

// Initializes LCI with the backend (of this name, as in LCI_ATTR_BACKEND; "auto": what that variable
// or the library chooses), and calls `measure` if all
// ranks have the same options and a partner each (unless they need none). `described` holds all
// options that must agree. All ranks of the job call it, before LCI is initialized. Throws usage_error if the library has no such
// backend. Returns an exit
// code: 0, or 2 with a message if the job does not suit.
int run_program(const char* program, const std::string& backend, const std::string& described,
                const std::function<void()>& measure, bool in_pairs = true);

// Prints an answer, such as the help, or the problem of a command line. Rank 0 prints for all
// ranks, and the others wait until it has, because the first rank that exits with an error ends the
// job. Returns an exit code.
int say_once(const char* program, const std::string& answer, const std::string& problem);

}  // namespace perf

#endif  // BENCHMARKS_PERF_PROGRAM_H_
