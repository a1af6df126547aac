// Two ranks send 8 bytes back and forth by active message; every even rank plays with the next one.
//   lcrun -n 2 pingpong [rounds]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "lci.hpp"

namespace {

// Counts what arrived. One thread makes progress, so it needs no atomics.
long arrived = 0;

void on_message(lci::status_t status) {
  ++arrived;
  std::free(status.get_buffer());
}

void send(int to, long number, lci::rcomp_t rcomp) {
  static_cast<void>(lci::post_am(to, &number, sizeof(number), lci::COMP_NULL, rcomp));
}

// There may be more ranks than cores: progress() leaves the processor to others when nothing comes.
void wait_for(long count) {
  while (arrived < count) lci::progress();
}

int run(long rounds) {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  if (lci::get_rank_n() % 2 != 0) {
    if (rank == 0) std::fprintf(stderr, "pingpong: start an even number of ranks\n");
    lci::g_runtime_fina();
    return 2;
  }
  const int peer = rank ^ 1;
  lci::comp_t handler = lci::alloc_handler(on_message);
  const lci::rcomp_t rcomp = lci::register_rcomp(handler);
  lci::barrier();

  const long warmup = rounds / 10 + 1;
  std::chrono::steady_clock::time_point start;
  for (long i = 0; i < warmup + rounds; ++i) {
    if (i == warmup) start = std::chrono::steady_clock::now();
    if (rank % 2 == 0) send(peer, i, rcomp);
    wait_for(i + 1);
    if (rank % 2 != 0) send(peer, i, rcomp);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (rank % 2 == 0) {
    std::printf("ranks %d and %d: 8 bytes one way in %.3f us, %.0f messages a second each way\n",
                rank, peer, taken.count() / static_cast<double>(rounds) / 2 * 1e6,
                static_cast<double>(rounds) / taken.count());
  }
  lci::barrier();
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const long rounds = argc > 1 ? std::strtol(argv[1], &end, 10) : 100000;
  if (rounds < 1 || (end != nullptr && *end != 0)) {
    std::fprintf(stderr, "pingpong: \"%s\" is not a number of rounds\n", argv[1]);
    return 2;
  }
  try {
    return run(rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pingpong: %s\n", error.what());
    return 1;
  }
}
