// Jobs on several hosts (LCI_HOSTS=0,1,1) that hang in a collective operation: the report names the
// operation that the program has called, and no step of it.
#include "gtest/gtest.h"
#include "tests/hangs/hung_job.h"

namespace {

using hangs::hung_job;

class Hang : public testing::TestWithParam<hung_job> {};

TEST_P(Hang, IsNamed) { hangs::expect_named(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Hosts, Hang,
    testing::Values(
        hung_job{"missing_in_barrier",
                 3,
                 {"ranks 1-2 are in barrier #1 for [0-9]+ s", "rank 0 is not in barrier #1"}},
        hung_job{
            "missing_in_allreduce",
            6,
            {"ranks 0, 2-5 are in allreduce #1 for [0-9]+ s", "rank 1 is not in allreduce #1"}},
        hung_job{"one_barrier_less",
                 3,
                 {"rank 1 is not in barrier #2, .*; its last one was barrier #1"}},
        hung_job{"collective_in_other_order",
                 3,
                 {"the ranks are in different collective operations: rank 0 is in allreduce #1, "
                  "ranks 1-2 in barrier #1"}},
        hung_job{"nonblocking_barrier",
                 3,
                 {"rank 0 has begun barrier #1, which waits for rank 1",
                  "rank 2 has begun barrier #1, which waits for rank 1"}}),
    hangs::name_of);

}  // namespace
