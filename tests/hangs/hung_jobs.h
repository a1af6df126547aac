// The jobs that hang by a mistake of the program, and what their reports have to say.
#ifndef TESTS_HANGS_HUNG_JOBS_H_
#define TESTS_HANGS_HUNG_JOBS_H_

#include <vector>

#include "tests/hangs/hung_job.h"

namespace hangs {

std::vector<hung_job> receive_jobs();
std::vector<hung_job> large_message_jobs();
std::vector<hung_job> collective_jobs();
std::vector<hung_job> object_jobs();
std::vector<hung_job> process_jobs();
std::vector<hung_job> rarer_jobs();

}  // namespace hangs

#endif  // TESTS_HANGS_HUNG_JOBS_H_
