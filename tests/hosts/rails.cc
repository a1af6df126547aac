// Rank 0 puts 4 MiB to rank 1, over one network and over two, in turn, and says how much faster two
// are. It ends when two are 1.8 times as fast, or fails. usage: rails SECOND_INTERFACE; the first one
// is that of LCI_ATTR_DEVICE_NAME.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lci.hpp"

namespace {

constexpr size_t size = size_t{4} << 20;
// Of each number of rails. A busy machine needs more than the least.
constexpr int least_rounds = 5;
constexpr int most_rounds = 100;

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

bool is_fast_enough(const double* least) { return least[0] >= 1.8 * least[1]; }

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

  // Seconds, by the number of rails less one. Other programs of the machine only make a round longer.
  double least[] = {1e9, 1e9};
  bool enough = false;
  for (int round = 0; !enough; ++round) {
    const int rails = 1 + round % 2;
    if (me == 0) {
      std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(round + 1));
      lci::barrier();
      const auto begin = std::chrono::steady_clock::now();
      static_cast<void>(lci::post_put_block_x(own, all[1]).rails(devices, rails)());
      wait(arrived, devices);  // the answer
      least[rails - 1] =
          std::min(least[rails - 1],
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      wait(sent, devices);
      enough = round + 1 == 2 * most_rounds ||
               (rails == 2 && round + 1 >= 2 * least_rounds && is_fast_enough(least));
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
  if (me == 0) {
    std::printf("4 MiB: one rail %.1f ms, two %.1f ms: %.2f times\n", least[0] * 1e3,
                least[1] * 1e3, least[0] / least[1]);
    check(is_fast_enough(least), "two rails are not 1.8 times as fast as one in any round");
  }
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
