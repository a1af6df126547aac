// More jobs that hang, by the rarer mistakes; and some of them over libfabric and with up to 16 ranks.
#include <string>

#include "gtest/gtest.h"
#include "tests/hangs/hung_job.h"

namespace {

using hangs::hung_job;

class Hang : public testing::TestWithParam<hung_job> {};

TEST_P(Hang, IsNamed) { hangs::expect_named(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    More, Hang,
    testing::Values(
        hung_job{"other_peer",
                 3,
                 {"rank 0 has waited .* tag 7 from rank 2, which has sent none that is unmatched",
                  "rank 0 has no receive for 1 message with tag 7 \\(8 bytes\\) from rank 1"}},
        hung_job{
            "other_engine",
            2,
            {"rank 0 has waited .* tag 7 from rank 1, which has sent tag 7 \\(8 bytes, another "
             "matching engine\\) instead"}},
        hung_job{"tags_in_other_order",
                 2,
                 {"rank 1 has waited .* tag 2 from rank 0, which has sent tag 1 \\(1048576 "
                  "bytes\\) instead",
                  "ranks wait for each other in a cycle: 0 -> 1 -> 0"}},
        hung_job{
            "chain",
            3,
            {"rank 0 has waited .* tag 1 from rank 1, .* and waits in sync_wait",
             "rank 1 has waited .* tag 1 from rank 2, .* and waits in no call of the library"}},
        hung_job{"blocking_receive", 2, {"rank 0 has waited .* tag 7 from rank 1, which has sent"}},
        hung_job{"two_threads",
                 2,
                 {"rank 0 has waited .* tag 7 from rank 1",
                  "rank 0 has waited .* tag 8 from rank "
                  "1"}},
        hung_job{
            "drain_without_receive",
            2,
            {"rank 1 has no receive for 1 message with tag 5 \\(1048576 bytes\\) from rank 0"}},
        hung_job{
            "finalizes_without_receive",
            2,
            {"rank 1 has no receive for 1 message with tag 5 \\(1048576 bytes\\) from rank 0"}},
        hung_job{"broadcast_without_root", 3, {"rank 0 is not in broadcast #1"}},
        hung_job{"missing_in_allreduce", 4, {"rank 1 is not in allreduce #1"}},
        // Which rank is missing is not known outside of the group's memory.
        hung_job{"missing_in_group",
                 4,
                 {std::string("rank 2 has waited ") + hangs::for_s + "in barrier of a group at "}},
        hung_job{"unpolled_device",
                 2,
                 {"rank 0 has announced a message of 1048576 bytes with tag 5 to rank 1",
                  "rank 1: nobody has made progress on device 1 for"},
                 hangs::long_patience},
        hung_job{"missing_in_start",
                 2,
                 {std::string("rank 1 has waited ") + hangs::for_s + "in alloc_device"}}),
    hangs::name_of);

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
