// Rank 0 puts 4 MiB to rank 1, over one network and over two, in turn, and says how much faster two
// are by the medians of five rounds. It must be 1.8 times, and a busy machine may try again. usage:
// rails SECOND_INTERFACE; the first one is that of LCI_ATTR_DEVICE_NAME.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lci.hpp"
#include "lci/base/sanitizer.h"

namespace {

constexpr size_t size = size_t{4} << 20;
constexpr int rounds = 5;  // of each number of rails, in a try
constexpr int most_tries = 20;

#if defined(LCI_BASE_ADDRESS_SANITIZER) || defined(LCI_BASE_THREAD_SANITIZER)
constexpr double least_ratio = 0;  // the processors are slower than the cables
#else
constexpr double least_ratio = 1.8;
#endif

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d: %s\n", lci::get_rank_me(), what);
  std::_Exit(1);
}

// Until the signal has come, on all devices.
void wait(lci::comp_t signal, const lci::device_t* devices) {
  while (!lci::signal_test(signal)) {
    for (int i = 0; i < 2; ++i) lci::progress_x().device(devices[i])();
  }
  lci::signal_reset(signal);
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

int main(int, char** argv) {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  lci::net_context_t second = lci::alloc_net_context_x().device_name(argv[1])();
  lci::device_t more = lci::alloc_device_x().net_context(second)();
  const lci::device_t devices[] = {lci::get_default_device(), more};

  std::vector<unsigned char> bytes(size);
  lci::mr_t here = lci::register_memory(bytes.data(), size);
  lci::mr_t there = lci::register_memory_x(bytes.data(), size).device(more)();
  lci::comp_t sent = lci::alloc_signal_x(1).name("sent")();
  lci::comp_t arrived = lci::alloc_signal_x(1).name("arrived")();
  const lci::block_t own =
      lci::make_block_x(here, 0, size).also(there).send_signal(sent).recv_signal(arrived)();
  lci::block_t all[2];
  lci::allgather(&own, all, sizeof(own));

  std::vector<double> seconds[2];  // of this try
  double times_as_fast = 0;        // of the last try
  bool enough = false;
  for (int round = 0; !enough; ++round) {
    const int rails = 1 + round % 2;
    if (me == 0) {
      std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(round + 1));
      lci::barrier();
      const auto begin = std::chrono::steady_clock::now();
      static_cast<void>(lci::post_put_block_x(own, all[1]).rails(devices, rails)());
      wait(arrived, devices);  // the answer
      seconds[rails - 1].push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      wait(sent, devices);
      if ((round + 1) % (2 * rounds) == 0) {
        const double one = median(seconds[0]);
        const double two = median(seconds[1]);
        times_as_fast = one / two;
        std::printf("4 MiB: one rail %.1f ms, two %.1f ms: %.2f times\n", one * 1e3, two * 1e3,
                    times_as_fast);
        for (std::vector<double>& each : seconds) each.clear();
        enough = times_as_fast >= least_ratio || round + 1 == 2 * rounds * most_tries;
      }
    } else {
      lci::barrier();
      wait(arrived, devices);
      check(std::count(bytes.begin(), bytes.end(), static_cast<unsigned char>(round + 1)) ==
                static_cast<std::ptrdiff_t>(size),
            "the bytes are not those of this round");
      static_cast<void>(
          lci::post_put_block_x(lci::sub_block(own, 0, 1), lci::sub_block(all[0], 0, 1))
              .device(devices[0])());
      wait(sent, devices);
    }
    lci::broadcast(&enough, sizeof(enough), 0);
  }
  if (me == 0) check(times_as_fast >= least_ratio, "two rails are not 1.8 times as fast as one");
  lci::wait_drained_x().device(more)();
  lci::wait_drained();
  lci::barrier();
  lci::free_comp(&sent);
  lci::free_comp(&arrived);
  lci::deregister_memory(&here);
  lci::deregister_memory(&there);
  lci::free_device(&more);
  lci::free_net_context(&second);
  lci::g_runtime_fina();
  return 0;
}
