// The program of the ranks of a job whose recordings the tests read. recorded messages | kill RANK
// | wait
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "lci.hpp"

namespace {

constexpr int threads = 2;
constexpr int messages = 300;  // of each thread
constexpr size_t large = 200000;
constexpr int large_messages = 5;

int rank, ranks, left, right;
std::atomic<int> handled{0};

void post_am(lci::rcomp_t rcomp, size_t size) {
  std::vector<char> bytes(size);
  while (lci::post_am(right, bytes.data(), size, lci::COMP_NULL_RETRY, rcomp).is_retry()) {
    lci::progress();
  }
}

// Threads that send and receive at the same time on one device, with tags of their own.
void exchange(int thread) {
  lci::comp_t arrived = lci::alloc_sync();
  for (int i = 0; i < messages; ++i) {
    const auto tag = static_cast<lci::tag_t>(thread);
    int sent = i;
    int received = -1;
    const lci::status_t status = lci::post_recv(left, &received, sizeof(received), tag, arrived);
    static_cast<void>(lci::post_send(right, &sent, sizeof(sent), tag, lci::COMP_NULL));
    if (status.is_posted()) lci::sync_wait(arrived, nullptr);
    // Two threads poll: messages that are under way at the same time may be matched in any order.
    if (received < 0 || received >= messages) std::abort();
  }
  lci::free_comp(&arrived);
}

void exchange_large() {
  std::vector<char> sent(large);
  std::vector<char> received(large);
  lci::comp_t done = lci::alloc_sync_x().threshold(2)();
  for (int i = 0; i < large_messages; ++i) {
    const auto tag = static_cast<lci::tag_t>(1000 + i);
    static_cast<void>(
        lci::post_recv_x(left, received.data(), large, tag, done).allow_done(false)());
    static_cast<void>(lci::post_send_x(right, sent.data(), large, tag, done).allow_done(false)());
    lci::sync_wait(done, nullptr);
  }
  lci::free_comp(&done);
}

void put_with_notification(lci::rcomp_t rcomp, lci::comp_t counter) {
  std::vector<char> memory(64);
  lci::mr_t mr = lci::register_memory(memory.data(), memory.size());
  std::vector<lci::rmr_t> all(static_cast<size_t>(ranks));
  const lci::rmr_t own = lci::get_rmr(mr);
  lci::allgather(&own, all.data(), sizeof(own));
  char byte = 1;
  while (lci::post_put_x(right, &byte, 1, lci::COMP_NULL_RETRY, static_cast<uintptr_t>(0),
                         all[static_cast<size_t>(right)])
             .remote_comp(rcomp)()
             .is_retry()) {
    lci::progress();
  }
  while (lci::counter_get(counter) < 1) lci::progress();
  lci::barrier();
  lci::deregister_memory(&mr);
}

void exchange_all() {
  lci::comp_t handler = lci::alloc_handler([](lci::status_t status) {
    ++handled;
    std::free(status.buffer);
  });
  const lci::rcomp_t to_handler = lci::register_rcomp(handler);
  lci::comp_t counter = lci::alloc_counter();
  const lci::rcomp_t to_counter = lci::register_rcomp(counter);
  lci::barrier();
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(exchange, thread);
  exchange(0);
  for (std::thread& each : others) each.join();
  exchange_large();
  post_am(to_handler, 8);
  post_am(to_handler, large);
  while (handled < 2) lci::progress();
  put_with_notification(to_counter, counter);
  lci::barrier();
  lci::free_comp(&handler);
  lci::free_comp(&counter);
}

// One rank kills itself after 42 messages; what the others do then is no matter.
void die(int victim) {
  constexpr int before = 42;
  if (rank == victim) {
    for (int i = 0; i < before; ++i) {
      static_cast<void>(
          lci::post_send(right, &i, sizeof(i), static_cast<lci::tag_t>(i), lci::COMP_NULL));
    }
    kill(getpid(), SIGKILL);
  }
  for (int i = 0;; ++i) {
    int received = 0;
    static_cast<void>(lci::post_recv(left, &received, sizeof(received), static_cast<lci::tag_t>(i),
                                     lci::COMP_NULL));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  lci::g_runtime_init();
  rank = lci::get_rank_me();
  ranks = lci::get_rank_n();
  left = (rank + ranks - 1) % ranks;
  right = (rank + 1) % ranks;
  if (what == "messages") exchange_all();
  if (what == "kill" && argc > 2) die(std::atoi(argv[2]));
  if (what == "wait") {
    lci::barrier();
    if (rank == 0) {
      std::puts("waiting");
      std::fflush(stdout);
      std::getchar();
    }
    lci::barrier();
  }
  lci::g_runtime_fina();
  return 0;
}
