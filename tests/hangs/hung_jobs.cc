#include "tests/hangs/hung_jobs.h"

#include <string>

namespace hangs {

std::vector<hung_job> receive_jobs() {
  return {
      {"other_tag",
       2,
       {std::string("rank 0 has waited ") + for_s +
        "for a message with tag 7 from rank 1, which has "
        "sent tag 8 \\(8 bytes\\) instead, unmatched"}},
      {"missing_send",
       2,
       {std::string("rank 0 has waited ") + for_s +
        "for a message with tag 7 from rank 1, which has "
        "sent none that is unmatched and waits in no call of the library"}},
      {"missing_send_polling",
       2,
       {"rank 0 has waited .* tag 7 from rank 1, which has sent none that is unmatched"}},
      {"sender_finalizes",
       2,
       {"rank 0 has waited .* tag 7 from rank 1, which has sent none that is unmatched "
        "and waits in free_runtime"}},
      {"any_source",
       3,
       {"rank 0 has waited .* tag 7 from any rank; it has got tag 8 from rank [12], tag 8 "
        "from rank [12]"}},
      {"any_source_of_other_policy",
       2,
       {"rank 0 has waited .* tag 7 from any rank; it has got tag 7 from rank 1 with another "
        "matching policy \\(receive: tag_only, message: rank_tag\\)"}},
      {"nothing_for_any_source", 2, {"rank 0 has waited .* tag 7 from any rank; none has arrived"}},
      {"any_tag", 2, {"rank 0 has waited .* any tag from rank 1, which has sent none"}},
      {"other_policy",
       2,
       {"rank 0 has waited .* any tag from rank 1, which has sent tag 7 \\(8 bytes, "
        "another matching policy \\(receive: rank_only, message: rank_tag\\)\\) instead"}},
      {"to_itself", 1, {"rank 0 has waited .* tag 3 from rank 0, which has sent none"}},
      {"receive_first", 2, {"ranks wait for each other in a cycle: 0 -> 1 -> 0"}},
      {"ring", 4, {"ranks wait for each other in a cycle: 0 -> 3 -> 2 -> 1 -> 0"}}};
}

std::vector<hung_job> large_message_jobs() {
  return {{"large_without_receive",
           2,
           {"rank 0 has announced a message of 1048576 bytes with tag 5 to rank 1, which has "
            "not taken it and waits in no call of the library",
            "rank 1: nobody has made progress on device 0 for"},
           long_patience},
          {"large_without_receive_polling",
           2,
           {"rank 1 has no receive for 1 message with tag 5 \\(1048576 bytes\\) from rank 0"}},
          {"large_to_a_sleeper",
           2,
           {"rank 0 has announced a message of 1048576 bytes with tag 5 to rank 1, which has "
            "not taken it and waits in no call of the library",
            "rank 1: nobody has made progress on device 0 for"},
           long_patience},
          {"both_send_large", 2, {"ranks wait for each other in a cycle: 0 -> 1 -> 0"}},
          {"blocking_send",
           2,
           {"rank 0 has announced a message of 1048576 bytes with tag 5 to rank 1"}}};
}

std::vector<hung_job> collective_jobs() {
  return {{"other_collective",
           4,
           {"the ranks are in different collective operations: ranks 1-3 are in allreduce "
            "#1, rank 0 in barrier #1"},
           "0.5",
           "ofi"},
          {"missing_in_barrier",
           3,
           {"ranks 1-2 are in barrier #1 for [0-9]+ s",
            "rank 0 is not in barrier #1, and waits in no call of the library; it has begun "
            "none yet"}},
          {"polling_beside_barrier", 2, {"rank 0 is not in barrier #1"}},
          {"one_barrier_less", 2, {"rank 1 is not in barrier #2, .*; its last one was barrier #1"}},
          {"receive_beside_barrier",
           2,
           {"rank 0 is not in barrier #1: it waits in sync_wait",
            "ranks wait for each other in a cycle: 0 -> 1 -> 0"}},
          {"barrier_of_some",
           5,
           {"ranks 0, 2, 4 are in barrier #1", "rank 1 is not in barrier #1",
            "rank 3 is not in barrier #1"}},
          {"collective_in_other_order",
           3,
           {"the ranks are in different collective operations: rank 0 is in allreduce #1, "
            "ranks 1-2 in barrier #1"},
           "0.5",
           "ofi"},
          {"nonblocking_barrier", 2, {"rank 0 has begun barrier #1, which waits for rank 1"}},
          {"persistent_barrier", 2, {"rank 0 has begun barrier #2, which waits for rank 1"}}};
}

std::vector<hung_job> object_jobs() {
  return {{"sync_of_two",
           2,
           {std::string("rank 0 has waited ") + for_s +
            "in sync_wait at .*; the synchronizer has 1 of 2 signals"}},
          {"wait_after_done",
           2,
           {std::string("rank 0 has waited ") + for_s +
            "in sync_wait at .*; the synchronizer has 0 of 1 signals, and no pending post of this "
            "rank will signal it: has a post answered done, which signals nothing\\?"}},
          {"unpopped_queue", 2, {"rank 1: 1 status waits in a completion queue \"results\""}},
          {"signal_without_events",
           2,
           {std::string("rank 0 has waited ") + for_s + "in signal_wait at "}}};
}

std::vector<hung_job> process_jobs() {
  return {{"stopped", 3, {"ranks 0, 2 are in barrier #1", "rank 1 is stopped"}},
          {"finalizes_early",
           2,
           {"the ranks are in different collective operations: rank 0 is in "
            "barrier #1, rank 1 in free_runtime #1"},
           "0.5",
           "ofi"}};
}

std::vector<hung_job> rarer_jobs() {
  return {
      {"other_peer",
       3,
       {"rank 0 has waited .* tag 7 from rank 2, which has sent none that is unmatched",
        "rank 0 has no receive for 1 message with tag 7 \\(8 bytes\\) from rank 1"}},
      {"other_engine",
       2,
       {"rank 0 has waited .* tag 7 from rank 1, which has sent tag 7 \\(8 bytes, another "
        "matching engine\\) instead"}},
      {"tags_in_other_order",
       2,
       {"rank 1 has waited .* tag 2 from rank 0, which has sent tag 1 \\(1048576 "
        "bytes\\) instead",
        "ranks wait for each other in a cycle: 0 -> 1 -> 0"}},
      {"chain",
       3,
       {"rank 0 has waited .* tag 1 from rank 1, .* and waits in sync_wait",
        "rank 1 has waited .* tag 1 from rank 2, .* and waits in no call of the library"}},
      {"blocking_receive", 2, {"rank 0 has waited .* tag 7 from rank 1, which has sent"}},
      {"two_threads",
       2,
       {"rank 0 has waited .* tag 7 from rank 1",
        "rank 0 has waited .* tag 8 from rank "
        "1"}},
      {"thread_that_never_comes",
       2,
       {"rank 0 has waited .* in barrier of a thread team.*; 2 of the 3 threads of this rank have "
        "come"}},
      {"drain_without_receive",
       2,
       {"rank 1 has no receive for 1 message with tag 5 \\(1048576 bytes\\) from rank 0"}},
      {"finalizes_without_receive",
       2,
       {"rank 1 has no receive for 1 message with tag 5 \\(1048576 bytes\\) from rank 0"}},
      {"finalize_with_a_large_message",
       2,
       {"rank 0 ends its runtime, and waits for its message of 1048576 bytes with tag 5 to rank "
        "1",
        "rank 1 has no receive for 1 message with tag 5"}},
      {"broadcast_without_root", 3, {"rank 0 is not in broadcast #1"}},
      {"missing_in_allreduce", 4, {"rank 1 is not in allreduce #1"}},
      // Only the group's memory shows which rank is missing.
      {"missing_in_group",
       4,
       {std::string("rank 2 has waited ") + for_s + "in barrier of a group at "}},
      {"unpolled_device",
       2,
       {"rank 0 has announced a message of 1048576 bytes with tag 5 to rank 1",
        "rank 1: nobody has made progress on device 1 for"},
       long_patience},
      {"message_on_an_unpolled_device",
       2,
       {"rank 0: nobody has made progress on device 1 for [0-9]+ s, and messages wait "
        "there"},
       long_patience},
      {"posts_without_progress",
       2,
       {"rank 0: posts on device 0 \\(the last: 8 bytes to rank 1 by thread [0-9]+, "
        "retry_[a-z]+\\) "
        "have been refused again and again for [0-9]+ s, and nobody has made progress on the "
        "device "
        "meanwhile"},
       long_patience},
      {"backlog_to_a_sleeper",
       2,
       {"rank 0: the network has refused a send of [0-9]+ bytes to rank 1 \\(retry_[a-z]+\\) on "
        "device 0 for"},
       long_patience},
      {"missing_in_start", 2, {std::string("rank 1 has waited ") + for_s + "in alloc_device"}}};
}

}  // namespace hangs
