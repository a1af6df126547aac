#include "tests/hangs/hang_cases.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "lci/observe/rank_scope.h"

namespace hangs {
namespace {

// Of the rank that the thread is, or is a thread of.
thread_local lci::runtime_t runtime;
thread_local int rank;
thread_local int ranks;
thread_local std::vector<char> small;
thread_local std::vector<char> large;

void become(const job_rank& whose) {
  runtime = whose.runtime;
  rank = whose.rank;
  ranks = whose.ranks;
  small.resize(8);
  large.resize(1 << 20);
}

// A second thread of the rank.
std::thread thread_of_rank(void (*body)()) {
  return std::thread([whose = job_rank{runtime, rank, ranks},
                      scope_rank = lci::observe::rank_of_this_thread(), body] {
    const lci::observe::rank_scope scope(scope_rank);
    become(whose);
    body();
  });
}

[[noreturn]] void sleep_on() {
  for (;;) pause();
}

void progress() { lci::progress_x().runtime(runtime)(); }
void barrier() { lci::barrier_x().runtime(runtime)(); }
lci::comp_t new_sync() { return lci::alloc_sync_x().runtime(runtime)(); }
void wait(lci::comp_t sync) { lci::sync_wait_x(sync, nullptr).runtime(runtime)(); }

// As a program whose scheduler polls.
[[noreturn]] void poll_on() {
  for (;;) progress();
}

lci::post_recv_x receive(int from, std::vector<char>& room, lci::tag_t tag, lci::comp_t comp) {
  return lci::post_recv_x(from, room.data(), room.size(), tag, comp).runtime(runtime);
}

lci::post_send_x posted_send(int to, std::vector<char>& bytes, lci::tag_t tag, lci::comp_t comp) {
  return lci::post_send_x(to, bytes.data(), bytes.size(), tag, comp).runtime(runtime);
}

void wait_for_message(int from, lci::tag_t tag) {
  lci::comp_t sync = new_sync();
  if (receive(from, small, tag, sync).allow_done(false)().is_posted()) wait(sync);
  lci::free_comp_x(&sync).runtime(runtime)();
}

// Posts until the answer is not a retry.
template <class Op>
void post(const Op& op) {
  while (op().is_retry()) progress();
}

void send(int to, lci::tag_t tag, std::vector<char>& bytes) {
  lci::comp_t sync = new_sync();
  post(posted_send(to, bytes, tag, sync).allow_done(false));
  wait(sync);
  lci::free_comp_x(&sync).runtime(runtime)();
}

void sum(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    static_cast<int*>(dst)[i] =
        static_cast<const int*>(left)[i] + static_cast<const int*>(right)[i];
  }
}

void reduce_all() {
  int in = 1, out = 0;
  lci::allreduce_x(&in, &out, 1, sizeof(int), sum).runtime(runtime)();
}

struct named_case {
  const char* name;
  void (*body)();
};

const named_case cases[] = {
    // Receives and sends.
    {"other_tag", [] { rank == 0 ? wait_for_message(1, 7) : (send(0, 8, small), sleep_on()); }},
    {"missing_send", [] { rank == 0 ? wait_for_message(1, 7) : sleep_on(); }},
    {"missing_send_polling", [] { rank == 0 ? wait_for_message(1, 7) : poll_on(); }},
    {"sender_finalizes",
     [] {
       if (rank == 0) wait_for_message(1, 7);
     }},
    {"any_source",
     [] { rank == 0 ? wait_for_message(lci::ANY_SOURCE, 7) : (send(0, 8, small), sleep_on()); }},
    {"nothing_for_any_source",
     [] { rank == 0 ? wait_for_message(lci::ANY_SOURCE, 7) : sleep_on(); }},
    {"any_source_of_other_policy",
     [] {
       if (rank == 0) wait_for_message(lci::ANY_SOURCE, 7);
       send(0, 7, small);  // under policy rank_tag, which a receive from any rank does not match
       sleep_on();
     }},
    {"any_tag", [] { rank == 0 ? wait_for_message(1, lci::ANY_TAG) : sleep_on(); }},
    {"other_policy",
     [] {
       if (rank == 0) wait_for_message(1, lci::ANY_TAG);
       send(0, 7, small);  // under policy rank_tag, which a receive of any tag does not match
       sleep_on();
     }},
    {"to_itself", [] { wait_for_message(rank, 3); }},
    {"receive_first",
     [] {  // both receive before they send
       wait_for_message(1 - rank, 1);
       send(1 - rank, 1, small);
     }},
    {"ring",
     [] {
       wait_for_message((rank + ranks - 1) % ranks, 1);
       send((rank + 1) % ranks, 1, small);
     }},
    {"large_without_receive", [] { rank == 0 ? send(1, 5, large) : sleep_on(); }},
    {"large_without_receive_polling", [] { rank == 0 ? send(1, 5, large) : poll_on(); }},
    {"large_to_a_sleeper",
     [] {
       if (rank == 0) send(1, 5, large);
       lci::comp_t sync = new_sync();
       static_cast<void>(receive(0, large, 5, sync)());
       sleep_on();  // and makes no progress
     }},
    {"both_send_large",
     [] {  // before either receives
       send(1 - rank, 1, large);
       wait_for_message(1 - rank, 1);
     }},
    {"blocking_send",
     [] {
       if (rank == 1) sleep_on();
       static_cast<void>(posted_send(1, large, 5, lci::COMP_NULL).allow_retry(false)());
     }},
    {"other_peer",
     [] {
       if (rank == 0) wait_for_message(2, 7);
       if (rank == 1) send(0, 7, small);
       sleep_on();
     }},
    {"other_engine",
     [] {
       lci::matching_engine_t other = lci::alloc_matching_engine_x().runtime(runtime)();
       barrier();
       if (rank == 0) wait_for_message(1, 7);
       lci::comp_t sync = new_sync();
       post(posted_send(0, small, 7, sync).matching_engine(other));
       poll_on();
     }},
    {"tags_in_other_order",
     [] {
       if (rank == 0) send(1, 1, large), send(1, 2, large);
       if (rank == 1) wait_for_message(0, 2), wait_for_message(0, 1);
       sleep_on();
     }},
    {"chain",
     [] {
       if (rank == 0) wait_for_message(1, 1);
       if (rank == 1) wait_for_message(2, 1);
       sleep_on();
     }},
    {"blocking_receive",
     [] {
       if (rank == 0) {
         static_cast<void>(receive(1, small, 7, lci::COMP_NULL)());
       }
       sleep_on();
     }},
    {"two_threads",
     [] {
       if (rank != 0) poll_on();
       std::thread other = thread_of_rank([] { wait_for_message(1, 8); });
       wait_for_message(1, 7);
       other.join();
     }},
    {"thread_that_never_comes",
     [] {
       lci::thread_team_t team = lci::alloc_thread_team_x(3).runtime(runtime)();
       static lci::thread_team_t shared;
       if (rank == 0) {
         shared = team;
         std::thread other =
             thread_of_rank([] { lci::barrier_x().thread_team(shared).thread(1)(); });
         lci::barrier_x().thread_team(team).thread(0)();
         other.join();
       }
       sleep_on();
     }},
    {"drain_without_receive",
     [] {
       if (rank != 0) poll_on();
       lci::comp_t sync = new_sync();
       post(posted_send(1, large, 5, sync));
       lci::wait_drained_x().runtime(runtime)();
     }},
    {"finalizes_without_receive",
     [] {
       if (rank != 0) poll_on();
       lci::comp_t sync = new_sync();
       post(posted_send(1, large, 5, sync));
     }},
    {"finalize_with_a_large_message",
     [] {
       if (rank != 0) return;
       lci::comp_t sync = new_sync();
       post(posted_send(1, large, 5, sync));
     }},
    {"unpolled_device",
     [] {
       lci::device_t second = lci::alloc_device_x().runtime(runtime)();
       barrier();
       lci::comp_t sync = new_sync();
       if (rank == 1) {
         static_cast<void>(receive(0, large, 5, sync).device(second)());
       }
       if (rank != 0) poll_on();
       post(posted_send(1, large, 5, sync).device(second));
       lci::sync_wait_x(sync, nullptr).runtime(runtime).device(second)();
     }},
    {"message_on_an_unpolled_device",
     [] {
       lci::device_t second = lci::alloc_device_x().runtime(runtime)();
       lci::comp_t counter = lci::alloc_counter_x().runtime(runtime)();
       const lci::rcomp_t rcomp = lci::register_rcomp_x(counter).runtime(runtime)();
       barrier();
       if (rank == 1) sleep_on();
       post(lci::post_am_x(rank, small.data(), small.size(), lci::COMP_NULL_RETRY, rcomp)
                .runtime(runtime)
                .device(second));
       wait_for_message(1, 7);  // the answer
     }},
    {"posts_without_progress",
     [] {
       lci::comp_t queue = lci::alloc_cq_x().runtime(runtime)();
       const lci::rcomp_t rcomp = lci::register_rcomp_x(queue).runtime(runtime)();
       barrier();
       if (rank == 1) sleep_on();
       const auto op = lci::post_am_x(1, small.data(), small.size(), lci::COMP_NULL_RETRY, rcomp)
                           .runtime(runtime);
       for (;;) {
         while (op().is_retry()) {
         }
       }
     }},
    {"backlog_to_a_sleeper",
     [] {
       lci::comp_t counter = lci::alloc_counter_x().runtime(runtime)();
       const lci::rcomp_t rcomp = lci::register_rcomp_x(counter).runtime(runtime)();
       barrier();
       if (rank == 1) sleep_on();
       const auto op = lci::post_am_x(1, small.data(), small.size(), counter, rcomp)
                           .runtime(runtime)
                           .allow_retry(false);
       // Until there is no room, which one refusal may not show.
       for (int refused = 0; refused < 200;) refused = op().is_posted() ? refused + 1 : 0;
       wait_for_message(1, 7);  // the answer
     }},
    // Collective operations.
    {"broadcast_without_root",
     [] {
       if (rank == 0) sleep_on();
       lci::broadcast_x(small.data(), small.size(), 0).runtime(runtime)();
     }},
    {"missing_in_allreduce", [] { rank == 1 ? sleep_on() : reduce_all(); }},
    {"missing_in_group",
     [] {
       lci::group_t half = lci::split_group_x(rank % 2, rank).runtime(runtime)();
       if (rank == 0) sleep_on();
       lci::barrier_x().runtime(runtime).group(half)();
       sleep_on();
     }},
    {"missing_in_start",
     [] {
       if (rank == 0) sleep_on();
       lci::alloc_device_x().runtime(runtime)();
     }},
    {"other_collective", [] { rank == 0 ? barrier() : reduce_all(); }},
    {"missing_in_barrier", [] { rank == 0 ? sleep_on() : barrier(); }},
    {"polling_beside_barrier", [] { rank == 0 ? poll_on() : barrier(); }},
    {"one_barrier_less",
     [] {
       barrier();
       if (rank == 1) sleep_on();
       barrier();
     }},
    {"receive_beside_barrier", [] { rank == 0 ? wait_for_message(1, 7) : barrier(); }},
    {"barrier_of_some", [] { rank % 2 == 0 ? barrier() : sleep_on(); }},
    {"collective_in_other_order",
     [] {
       if (rank == 0) reduce_all();
       barrier();
       if (rank != 0) reduce_all();
     }},
    {"nonblocking_barrier",
     [] {
       if (rank == 1) sleep_on();
       lci::comp_t sync = new_sync();
       lci::barrier_x().runtime(runtime).comp(sync)();
       wait(sync);
     }},
    {"persistent_barrier",
     [] {
       lci::comp_t sync = new_sync();
       lci::persistent_coll_t recorded =
           lci::alloc_persistent_coll(lci::barrier_x().runtime(runtime).comp(sync));
       lci::persistent_coll_start(recorded);
       wait(sync);
       if (rank == 1) sleep_on();
       lci::persistent_coll_start(recorded);
       wait(sync);
     }},
    // Completion objects.
    {"sync_of_two",
     [] {
       if (rank == 1) sleep_on();
       lci::comp_t sync = lci::alloc_sync_x().runtime(runtime).threshold(2)();
       lci::comp_signal_x(sync, lci::status_t(lci::errorcode_t::done)).runtime(runtime)();
       wait(sync);
     }},
    {"wait_after_done",
     [] {
       if (rank == 1) poll_on();
       lci::comp_t sync = new_sync();
       while (!posted_send(1, small, 5, sync)().is_done()) progress();
       wait(sync);  // done signals nothing
     }},
    {"unpopped_queue",
     [] {
       lci::comp_t queue = lci::alloc_cq_x().runtime(runtime).name("results")();
       const lci::rcomp_t rcomp = lci::register_rcomp_x(queue).runtime(runtime)();
       barrier();
       if (rank == 0) {
         post(
             lci::post_am_x(1, small.data(), small.size(), lci::COMP_NULL, rcomp).runtime(runtime));
         wait_for_message(1, 1);  // the answer
       }
       poll_on();
     }},
    {"signal_without_events",
     [] {
       if (rank == 1) sleep_on();
       lci::comp_t signal = lci::alloc_signal_x(1).runtime(runtime)();
       lci::signal_wait_x(signal).runtime(runtime)();
     }},
    // Processes.
    {"stopped",
     [] {
       if (rank == 1) raise(SIGSTOP);
       barrier();
     }},
    {"finalizes_early",
     [] {
       if (rank == 0) barrier(), barrier();
     }},
    {"nothing",
     [] {
       std::fprintf(stderr, "ready\n");
       sleep_on();
     }},
};

}  // namespace

bool run_case(const std::string& name, const job_rank& as) {
  for (const named_case& each : cases) {
    if (name != each.name) continue;
    become(as);
    each.body();
    return true;
  }
  return false;
}

}  // namespace hangs
