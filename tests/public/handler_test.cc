// Callbacks of one handler run in several threads at the same time, whichever make progress.
#include <atomic>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int threads = 3;

std::atomic<int> inside{0};
std::atomic<int> left{0};
std::thread::id who[threads];

template <class Done>
void wait_until(Done done) {
  while (!done()) std::this_thread::yield();
}

// Returns when as many callbacks as there are threads have come here.
void on_message(lci::status_t) {
  const int place = inside.fetch_add(1);
  EXPECT(place < threads);
  who[place] = std::this_thread::get_id();
  wait_until([] { return inside.load() == threads; });
  left.fetch_add(1);
}

// The next message is sent when the callback of the last one is inside, so that no thread takes two
// at once.
void send_to_myself(lci::device_t device, lci::rcomp_t name) {
  for (int i = 0; i < threads; ++i) {
    char byte = 0;
    const auto post =
        lci::post_am_x(lci::get_rank_me(), &byte, 1, lci::COMP_NULL_RETRY, name).device(device);
    wait_until([&post] { return !post().is_retry(); });
    wait_until([i] { return inside.load() > i; });
  }
}

void run(lci::device_t device) {
  inside = 0;
  left = 0;
  lci::comp_t handler = lci::alloc_handler_x(on_message).lend_am(true)();
  const lci::rcomp_t name = lci::register_rcomp(handler);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([device] {
      wait_until([device] {
        lci::progress_x().device(device)();
        return left.load() == threads;
      });
    });
  }
  send_to_myself(device, name);
  for (std::thread& one : all) one.join();
  EXPECT(left.load() == threads);
  for (int i = 0; i < threads; ++i) {
    for (int j = 0; j < i; ++j) EXPECT(who[i] != who[j]);
  }
  lci::deregister_rcomp(name);
  lci::free_comp(&handler);
}

void body() {
  lci::g_runtime_init();
  run(lci::get_default_device());
  lci::device_t device = lci::alloc_device();
  run(device);
  lci::barrier();
  lci::free_device(&device);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(body); }
