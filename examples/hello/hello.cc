// The smallest program: every rank says who it is and greets its neighbor.
//   lcrun -n 4 hello
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "lci.hpp"

namespace {

int run() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);

  // Messages for this rank end up in `inbox`, which the other ranks know as number `rcomp`.
  lci::comp_t inbox = lci::alloc_cq();
  const lci::rcomp_t rcomp = lci::register_rcomp(inbox);
  lci::barrier();  // everybody has registered: now they may be sent to

  char greeting[320];
  const int length = std::snprintf(greeting, sizeof(greeting), "rank %d on %s", rank, host);
  static_cast<void>(lci::post_am((rank + 1) % ranks, greeting, static_cast<size_t>(length) + 1,
                                 lci::COMP_NULL, rcomp));

  lci::status_t received;
  do {
    lci::progress();
    received = lci::cq_pop(inbox);
  } while (received.is_retry());
  std::printf("rank %d of %d: hello from %s\n", rank, ranks,
              static_cast<const char*>(received.get_buffer()));
  std::fflush(stdout);
  std::free(received.get_buffer());

  lci::barrier();
  lci::free_comp(&inbox);
  lci::g_runtime_fina();
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hello: %s\n", error.what());
    return 1;
  }
}
