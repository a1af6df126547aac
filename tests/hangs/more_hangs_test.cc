// More jobs that hang, by the rarer mistakes; and some of them over libfabric and with up to 16
// ranks.
#include <string>

#include "gtest/gtest.h"
#include "tests/hangs/hung_job.h"
#include "tests/hangs/hung_jobs.h"

namespace {

using hangs::hung_job;

class Hang : public testing::TestWithParam<hung_job> {};

TEST_P(Hang, IsNamed) { hangs::expect_named(GetParam()); }

INSTANTIATE_TEST_SUITE_P(More, Hang, testing::ValuesIn(hangs::rarer_jobs()), hangs::name_of);

// The same over the other network, and with more ranks.
INSTANTIATE_TEST_SUITE_P(
    Networks, Hang,
    testing::Values(
        hung_job{"other_tag",
                 2,
                 {"rank 0 has waited .* sent tag 8 \\(8 bytes\\) instead"},
                 "0.5",
                 "ofi"},
        hung_job{"ring", 16, {"ranks wait for each other in a cycle: 0 -> 15 -> 14"}},
        hung_job{"ring", 8, {"ranks wait for each other in a cycle: 0 -> 7 -> 6"}, "0.5", "ofi"},
        hung_job{"any_source",
                 4,
                 {"rank 0 has waited .* tag 7 from any rank; it has got tag 8"},
                 "0.5",
                 "ofi"},
        hung_job{"both_send_large",
                 2,
                 {"ranks wait for each other in a cycle: 0 -> 1 -> 0"},
                 "0.5",
                 "ofi"},
        hung_job{"missing_in_barrier", 16, {"ranks 1-15 are in barrier #1", "rank 0 is not in"}},
        hung_job{"missing_in_barrier",
                 8,
                 {"ranks 1-7 are in barrier #1", "rank 0 is not in"},
                 "0.5",
                 "ofi"},
        hung_job{"broadcast_without_root", 4, {"rank 0 is not in broadcast #1"}, "0.5", "ofi"},
        hung_job{"tags_in_other_order",
                 2,
                 {"rank 1 has waited .* tag 2 from rank 0, which has sent tag 1"},
                 "0.5",
                 "ofi"},
        hung_job{"stopped", 8, {"rank 1 is stopped"}},
        hung_job{"stopped", 4, {"rank 1 is stopped"}, "0.5", "ofi"}),
    hangs::name_of);

}  // namespace
