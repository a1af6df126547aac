// The counters of a job that every rank knows: each sends a number of active messages to every
// rank, itself included.
#include <cstdint>
#include <cstdlib>

#include "tests/public/check.h"

namespace {

uint64_t messages(int from, int to) { return static_cast<uint64_t>(10 * from + to + 1); }
size_t size_of(int from) { return 8 * static_cast<size_t>(from + 1); }

void count() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  lci::comp_t arrived = lci::alloc_counter();
  const lci::rcomp_t rcomp = lci::register_rcomp(arrived);
  lci::barrier();

  unsigned char bytes[64] = {};
  uint64_t sent = 0;
  uint64_t expected = 0;
  for (int to = 0; to < ranks; ++to) {
    for (uint64_t i = 0; i < messages(rank, to); ++i) {
      while (lci::post_am(to, bytes, size_of(rank), lci::COMP_NULL_RETRY, rcomp).is_retry()) {
        lci::progress();
      }
    }
    sent += messages(rank, to);
    expected += messages(to, rank);
  }
  while (lci::counter_get(arrived) < static_cast<int64_t>(expected)) lci::progress();

  const lci::counters_t all = lci::get_counters();
  EXPECT(all.counts_traffic);
  EXPECT(all.devices.size() == 1);
  const lci::device_counters_t& device = all.devices[0];
  EXPECT(device.sent_am.messages == sent);
  EXPECT(device.sent_am.bytes == sent * size_of(rank));
  EXPECT(device.received_am.messages == expected);
  uint64_t bytes_expected = 0;
  for (int from = 0; from < ranks; ++from) bytes_expected += messages(from, rank) * size_of(from);
  EXPECT(device.received_am.bytes == bytes_expected);
  EXPECT(device.peers.size() == static_cast<size_t>(ranks));
  for (int peer = 0; peer < ranks; ++peer) {
    const lci::peer_counters_t& with = device.peers[static_cast<size_t>(peer)];
    EXPECT(with.rank == peer);
    // The barrier's messages, too.
    EXPECT(with.sent.messages >= messages(rank, peer));
    EXPECT(with.received.messages >= messages(peer, rank));
  }
  lci::barrier();
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&arrived);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(count); }
