// Many messages that arrive long before their receives: rank r + 1 takes those of rank r in several
// orders, each with its own bytes.
#include <cstdint>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

// As many as make a cost per message that grows with their number seen, as a test that does not
// end: three of them took minutes.
constexpr uint64_t messages = 300000;

uint64_t word(int rank, uint64_t i) { return static_cast<uint64_t>(rank) * 1000000007 + i; }

void test() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  const int to = (me + 1) % ranks;
  const int from = (me + ranks - 1) % ranks;
  // Tags in sequence and far apart; first to last, last to first, and the odd ones after the even
  // ones.
  for (const int shift : {0, 20, 44}) {
    for (const int order : {0, 1, 2}) {
      const uint64_t count = order == 0 ? messages : messages / 10;
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t sent = word(me, i);
        while (lci::post_send(to, &sent, sizeof(sent), i << shift, lci::COMP_NULL).is_retry()) {
          lci::progress();
        }
      }
      lci::wait_drained();
      lci::barrier();
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t tag = order == 0      ? i
                             : order == 1    ? count - 1 - i
                             : i < count / 2 ? 2 * i
                                             : 2 * (i - count / 2) + 1;
        uint64_t received = 0;
        const lci::status_t status =
            lci::post_recv(from, &received, sizeof(received), tag << shift, lci::COMP_NULL);
        EXPECT(status.is_done() && status.rank == from && status.tag == tag << shift);
        EXPECT(received == word(from, tag));
      }
      lci::barrier();
    }
  }
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(test); }
