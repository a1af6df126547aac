// A histogram whose bins are distributed over the ranks. Each sample is an active message to the
// rank that owns its bin, where a handler counts it.
//   lcrun -n 4 active_messages
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "lci.hpp"

namespace {

constexpr int bins = 64;
constexpr int samples_per_rank = 20000;

struct sample {
  int32_t bin;
  int32_t weight;
};

// The samples of a rank, always the same ones: so every rank can compute the whole histogram.
std::vector<sample> samples_of(int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::vector<sample> made;
  for (int i = 0; i < samples_per_rank; ++i) {
    made.push_back({static_cast<int32_t>(random() % bins), static_cast<int32_t>(random() % 10)});
  }
  return made;
}

// [begin handler]
// Several threads may run a handler at a time: what it changes is atomic.
std::atomic<int64_t> histogram[bins];
std::atomic<int64_t> received{0};

void on_sample(lci::status_t status) {
  const auto* const arrived = static_cast<const sample*>(status.get_buffer());
  histogram[arrived->bin] += arrived->weight;
  ++received;
}
// [end handler]

}  // namespace

int main() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();

  // [begin register]
  // lend_am: the handler reads the bytes in the library's memory, so nothing has to be freed.
  lci::comp_t handler = lci::alloc_handler_x(on_sample).lend_am(true)();
  const lci::rcomp_t rcomp = lci::register_rcomp(handler);
  lci::barrier();
  // [end register]

  // [begin send]
  std::vector<int64_t> sent(static_cast<size_t>(ranks));
  for (const sample& each : samples_of(rank)) {
    const int owner = each.bin % ranks;
    // COMP_NULL_RETRY: the answer is `done` or `retry`.
    while (lci::post_am(owner, &each, sizeof(each), lci::COMP_NULL_RETRY, rcomp).is_retry()) {
      lci::progress();  // which also counts samples of other ranks
    }
    ++sent[static_cast<size_t>(owner)];
  }
  // [end send]

  // [begin terminate]
  // Number r of `sent` goes to rank r, which so learns how many samples it will get from each rank.
  std::vector<int64_t> announced(sent.size());
  lci::alltoall(sent.data(), announced.data(), sizeof(int64_t));
  int64_t expected = 0;
  for (const int64_t each : announced) expected += each;
  while (received < expected) lci::progress();
  // [end terminate]

  // [begin check]
  std::vector<int64_t> correct_histogram(bins);
  for (int r = 0; r < ranks; ++r) {
    for (const sample& each : samples_of(r)) {
      correct_histogram[static_cast<size_t>(each.bin)] += each.weight;
    }
  }
  bool correct = received == expected;
  for (int bin = rank; bin < bins; bin += ranks) {
    correct = correct && histogram[bin] == correct_histogram[static_cast<size_t>(bin)];
  }
  // [end check]
  std::printf("rank %d: %lld samples, bins %s\n", rank, static_cast<long long>(expected),
              correct ? "correct" : "WRONG");

  lci::barrier();  // no rank sends to the handler any more
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}
