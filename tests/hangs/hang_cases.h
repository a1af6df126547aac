// Programs of the ranks of a job that hangs. Each case has a mistake that users make.
#ifndef TESTS_HANGS_HANG_CASES_H_
#define TESTS_HANGS_HANG_CASES_H_

#include <string>

#include "lci.hpp"

namespace hangs {

// One rank: a process, or a thread of a process that runs several.
struct job_rank {
  lci::runtime_t runtime;
  int rank;
  int ranks;
};

// Runs the rank's part of the case; returns false if there is none of this name. Most never return:
// a rank that has nothing to wait for in the library sleeps, as a program that computes or waits
// for something else.
bool run_case(const std::string& name, const job_rank& as);

}  // namespace hangs

#endif  // TESTS_HANGS_HANG_CASES_H_
