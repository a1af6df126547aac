// Ranks fork off children that communicate by mistake. Each child is refused, by an error that
// names fork and both processes, and the parents lose nothing. The children end as ordinary
// programs do, with exit().
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int messages = 2000;
constexpr size_t large = 300000;

// The call is refused as it should be.
template <class Call>
void expect_refused(Call call) {
  std::string text;
  try {
    call();
  } catch (const std::logic_error& error) {
    text = error.what();
  }
  EXPECT(text.find("fork") != std::string::npos);
  EXPECT(text.find("process " + std::to_string(getpid())) != std::string::npos);
  EXPECT(text.find("process " + std::to_string(getppid())) != std::string::npos);
}

struct resources {
  lci::comp_t queue;
  lci::comp_t sync;
  lci::rcomp_t rcomp;
  lci::device_t device;
  lci::mr_t mr;
  std::vector<char> memory;
};

void communicate_in_child(resources& of, int peer) {
  char byte = 0;
  for (int i = 0; i < 100; ++i) {
    expect_refused([&] {
      const lci::status_t status = lci::post_am(peer, &byte, 1, lci::COMP_NULL_RETRY, of.rcomp);
      EXPECT(status.is_done());
    });
    expect_refused([] { lci::progress(); });
    expect_refused([&] { lci::progress_x().device(of.device)(); });
  }
  expect_refused([&] { static_cast<void>(lci::post_send(peer, &byte, 1, 0, of.sync)); });
  expect_refused([&] { static_cast<void>(lci::post_recv(peer, &byte, 1, 0, of.sync)); });
  expect_refused([&] {
    static_cast<void>(
        lci::post_am_x(peer, of.memory.data(), large, of.sync, of.rcomp).device(of.device)());
  });
  expect_refused([] { lci::barrier(); });
  expect_refused([&] { lci::sync_wait(of.sync, nullptr); });
  expect_refused([&] { lci::deregister_memory(&of.mr); });
  expect_refused([&] { lci::free_device(&of.device); });
  expect_refused([] { static_cast<void>(lci::alloc_device()); });
  expect_refused([] { static_cast<void>(lci::alloc_runtime()); });
  expect_refused([] { lci::global_initialize(); });
  expect_refused([] { lci::global_finalize(); });
  expect_refused([] { lci::g_runtime_init(); });
  expect_refused([] { lci::g_runtime_fina(); });
}

void test() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  const int to = (me + 1) % ranks;
  resources own;
  own.queue = lci::alloc_cq();
  own.sync = lci::alloc_sync();
  own.rcomp = lci::register_rcomp(own.queue);
  own.device = lci::alloc_device();
  own.memory.resize(large);
  own.mr = lci::register_memory(own.memory.data(), large);
  lci::barrier();

  int sent = 0;
  int arrived = 0;
  const auto poll = [&] {
    lci::progress();
    for (lci::status_t status = lci::cq_pop(own.queue); !status.is_retry();
         status = lci::cq_pop(own.queue)) {
      EXPECT(status.size == sizeof(int) || status.size == large);
      ++arrived;
      std::free(status.buffer);
    }
  };
  std::vector<pid_t> children;
  while (sent < messages || arrived < messages) {
    if (sent < messages) {
      // Every 100th is a rendezvous.
      const lci::status_t status =
          sent % 100 == 99
              ? lci::post_am(to, own.memory.data(), large, lci::COMP_NULL_RETRY, own.rcomp)
              : lci::post_am(to, &sent, sizeof(sent), lci::COMP_NULL_RETRY, own.rcomp);
      if (!status.is_retry()) ++sent;
    }
    // In the middle of traffic in both directions.
    if (sent == messages / 4 * static_cast<int>(children.size() + 1) && children.size() < 3) {
      const pid_t child = fork();
      EXPECT(child >= 0);
      if (child == 0) {
        communicate_in_child(own, to);
        std::exit(0);
      }
      children.push_back(child);
    }
    poll();
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(status == 0);
  }
  lci::barrier();
  EXPECT(arrived == messages);
  lci::deregister_memory(&own.mr);
  lci::free_device(&own.device);
  lci::free_comp(&own.sync);
  lci::free_comp(&own.queue);
  lci::g_runtime_fina();

  // Without a job of its parent, a child may use the library: to it, it is a process as any other.
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    for (const char* variable : {"LCI_RANK", "LCI_SIZE", "LCI_BOOT_ADDR", "LCI_BOOT_TOKEN"}) {
      unsetenv(variable);
    }
    setenv("LCI_BOOT", "local", 1);
    lci::g_runtime_init();
    lci::barrier();
    lci::g_runtime_fina();
    std::exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(status == 0);
}

}  // namespace

int main() { return run_test(test); }
