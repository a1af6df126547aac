// Programs that hang, each by a mistake that users make. usage: hang CASE
//
// A rank that has nothing to wait for in the library sleeps in sleep_on, as a program that computes
// or waits for something else. The ranks never end by themselves, unless a case says so.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "lci.hpp"

namespace {

int rank;
int ranks;
std::vector<char> small(8);
std::vector<char> large(1 << 20);

[[noreturn]] void sleep_on() {
  for (;;) pause();
}

// As a program whose scheduler polls.
[[noreturn]] void poll_on() {
  for (;;) lci::progress();
}

void wait_for_message(int from, lci::tag_t tag) {
  lci::comp_t sync = lci::alloc_sync();
  const lci::status_t status =
      lci::post_recv_x(from, small.data(), small.size(), tag, sync).allow_done(false)();
  if (status.is_posted()) lci::sync_wait(sync, nullptr);
  lci::free_comp(&sync);
}

void send(int to, lci::tag_t tag, std::vector<char>& bytes) {
  lci::comp_t sync = lci::alloc_sync();
  lci::status_t status;
  do {
    status = lci::post_send_x(to, bytes.data(), bytes.size(), tag, sync).allow_done(false)();
    lci::progress();
  } while (status.is_retry());
  lci::sync_wait(sync, nullptr);
  lci::free_comp(&sync);
}

void sum(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    static_cast<int*>(dst)[i] =
        static_cast<const int*>(left)[i] + static_cast<const int*>(right)[i];
  }
}

void reduce_all() {
  int in = 1, out = 0;
  lci::allreduce(&in, &out, 1, sizeof(int), sum);
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
       lci::comp_t sync = lci::alloc_sync();
       static_cast<void>(lci::post_recv(0, large.data(), large.size(), 5, sync));
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
       static_cast<void>(
           lci::post_send_x(1, large.data(), large.size(), 5, lci::COMP_NULL).allow_retry(false)());
     }},
    {"other_peer",
     [] {
       if (rank == 0) wait_for_message(2, 7);
       if (rank == 1) send(0, 7, small);
       sleep_on();
     }},
    {"other_engine",
     [] {
       lci::matching_engine_t other = lci::alloc_matching_engine();
       lci::barrier();
       if (rank == 0) wait_for_message(1, 7);
       lci::comp_t sync = lci::alloc_sync();
       static_cast<void>(
           lci::post_send_x(0, small.data(), small.size(), 7, sync).matching_engine(other)());
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
         static_cast<void>(lci::post_recv(1, small.data(), small.size(), 7, lci::COMP_NULL));
       }
       sleep_on();
     }},
    {"two_threads",
     [] {
       if (rank != 0) poll_on();
       std::thread other([] { wait_for_message(1, 8); });
       wait_for_message(1, 7);
       other.join();
     }},
    {"drain_without_receive",
     [] {
       if (rank != 0) poll_on();
       lci::comp_t sync = lci::alloc_sync();
       static_cast<void>(lci::post_send(1, large.data(), large.size(), 5, sync));
       lci::wait_drained();
     }},
    {"finalizes_without_receive",
     [] {
       if (rank != 0) poll_on();
       lci::comp_t sync = lci::alloc_sync();
       static_cast<void>(lci::post_send(1, large.data(), large.size(), 5, sync));
     }},
    {"unpolled_device",
     [] {
       lci::device_t second = lci::alloc_device();
       lci::barrier();
       lci::comp_t sync = lci::alloc_sync();
       if (rank == 1) {
         static_cast<void>(
             lci::post_recv_x(0, large.data(), large.size(), 5, sync).device(second)());
       }
       if (rank != 0) poll_on();
       static_cast<void>(lci::post_send_x(1, large.data(), large.size(), 5, sync).device(second)());
       lci::sync_wait_x(sync, nullptr).device(second)();
     }},
    // Collective operations.
    {"broadcast_without_root",
     [] {
       if (rank == 0) sleep_on();
       lci::broadcast(small.data(), small.size(), 0);
     }},
    {"missing_in_allreduce", [] { rank == 1 ? sleep_on() : reduce_all(); }},
    {"missing_in_group",
     [] {
       lci::group_t half = lci::split_group(rank % 2, rank);
       if (rank == 0) sleep_on();
       lci::barrier_x().group(half)();
       sleep_on();
     }},
    {"missing_in_start",
     [] {
       if (rank == 0) sleep_on();
       lci::alloc_device();
     }},
    {"other_collective", [] { rank == 0 ? lci::barrier() : reduce_all(); }},
    {"missing_in_barrier", [] { rank == 0 ? sleep_on() : lci::barrier(); }},
    {"polling_beside_barrier", [] { rank == 0 ? poll_on() : lci::barrier(); }},
    {"one_barrier_less",
     [] {
       lci::barrier();
       if (rank == 1) sleep_on();
       lci::barrier();
     }},
    {"receive_beside_barrier", [] { rank == 0 ? wait_for_message(1, 7) : lci::barrier(); }},
    {"barrier_of_some", [] { rank % 2 == 0 ? lci::barrier() : sleep_on(); }},
    {"collective_in_other_order",
     [] {
       if (rank == 0) reduce_all();
       lci::barrier();
       if (rank != 0) reduce_all();
     }},
    {"nonblocking_barrier",
     [] {
       if (rank == 1) sleep_on();
       lci::comp_t sync = lci::alloc_sync();
       lci::barrier_x().comp(sync)();
       lci::sync_wait(sync, nullptr);
     }},
    // Completion objects.
    {"sync_of_two",
     [] {
       if (rank == 1) sleep_on();
       lci::comp_t sync = lci::alloc_sync_x().threshold(2)();
       lci::comp_signal(sync, lci::status_t(lci::errorcode_t::done));
       lci::sync_wait(sync, nullptr);
     }},
    {"unpopped_queue",
     [] {
       lci::comp_t queue = lci::alloc_cq_x().name("results")();
       const lci::rcomp_t rcomp = lci::register_rcomp(queue);
       lci::barrier();
       if (rank == 0) {
         while (lci::post_am(1, small.data(), small.size(), lci::COMP_NULL, rcomp).is_retry()) {
           lci::progress();
         }
         wait_for_message(1, 1);  // the answer
       }
       poll_on();
     }},
    {"signal_without_events",
     [] {
       if (rank == 1) sleep_on();
       lci::comp_t signal = lci::alloc_signal(1);
       lci::signal_wait(signal);
     }},
    // Processes.
    {"stopped",
     [] {
       if (rank == 1) raise(SIGSTOP);
       lci::barrier();
     }},
    {"finalizes_early",
     [] {
       if (rank == 0) lci::barrier(), lci::barrier();
     }},
    {"nothing",
     [] {
       std::fprintf(stderr, "ready\n");
       sleep_on();
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "late") {  // joins only on rank 0
    if (std::string(std::getenv("LCI_RANK")) != "0") sleep_on();
  }
  lci::g_runtime_init();
  rank = lci::get_rank_me();
  ranks = lci::get_rank_n();
  for (const named_case& each : cases) {
    if (name == each.name) {
      each.body();
      lci::g_runtime_fina();
      return 0;
    }
  }
  std::fprintf(stderr, "hang: there is no case \"%s\"\n", name.c_str());
  return 2;
}
