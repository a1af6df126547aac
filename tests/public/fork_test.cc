// A rank forks off a child between registering memory and communicating: the network continues to
// read and write the memory of the rank, and the child has an unchanged copy.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr size_t words = 20000;

uint64_t word(int rank, uint64_t round, size_t i) {
  return round * 1000000007 + static_cast<uint64_t>(rank) * 1000003 + i;
}

void fill(std::vector<uint64_t>* with, int rank, uint64_t round) {
  for (size_t i = 0; i < words; ++i) (*with)[i] = word(rank, round, i);
}

bool is_filled(const std::vector<uint64_t>& with, int rank, uint64_t round) {
  for (size_t i = 0; i < words; ++i) {
    if (with[i] != word(rank, round, i)) return false;
  }
  return true;
}

template <class Post>
void finish(const Post& post) {
  lci::comp_t sync = lci::alloc_sync();
  lci::status_t status = post(sync);
  for (; status.is_retry(); status = post(sync)) lci::progress();
  if (status.is_posted()) lci::sync_wait(sync, nullptr);
  lci::free_comp(&sync);
}

void test() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  const int to = (me + 1) % ranks;
  const int from = (me + ranks - 1) % ranks;
  std::vector<uint64_t> exposed(words);
  std::vector<uint64_t> own(words);
  fill(&exposed, me, 0);
  lci::mr_t exposed_mr = lci::register_memory(exposed.data(), words * 8);
  lci::mr_t own_mr = lci::register_memory(own.data(), words * 8);
  const lci::rmr_t mine = lci::get_rmr(exposed_mr);
  std::vector<lci::rmr_t> all(static_cast<size_t>(ranks));
  lci::allgather(&mine, all.data(), sizeof(mine));
  const lci::rmr_t theirs = all[static_cast<size_t>(to)];

  int until[2];
  EXPECT(pipe(until) == 0);
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    close(until[1]);
    char none;
    while (read(until[0], &none, 1) > 0) {
    }
    _exit(is_filled(exposed, me, 0) ? 0 : 1);
  }
  close(until[0]);

  fill(&exposed, me, 1);
  lci::barrier();
  finish([&](lci::comp_t done) {
    return lci::post_get_x(to, own.data(), words * 8, done, 0, theirs).mr(own_mr)();
  });
  EXPECT(is_filled(own, to, 1));
  lci::barrier();
  fill(&own, me, 2);
  finish([&](lci::comp_t done) {
    return lci::post_put_x(to, own.data(), words * 8, done, 0, theirs).mr(own_mr)();
  });
  lci::barrier();
  EXPECT(is_filled(exposed, from, 2));

  close(until[1]);
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(status == 0);
  lci::deregister_memory(&own_mr);
  lci::deregister_memory(&exposed_mr);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(test); }
