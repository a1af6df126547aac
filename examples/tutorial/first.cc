#include <cstdio>

#include "lci.hpp"

int main() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;

  int received = -1;
  lci::comp_t arrived = lci::alloc_sync();
  const lci::status_t status = lci::post_recv(left, &received, sizeof(received), 0, arrived);
  static_cast<void>(lci::post_send(right, &rank, sizeof(rank), 0, lci::COMP_NULL));
  if (status.is_posted()) lci::sync_wait(arrived, nullptr);
  std::printf("rank %d of %d heard from rank %d\n", rank, ranks, received);

  lci::free_comp(&arrived);
  lci::g_runtime_fina();
  return received == left ? 0 : 1;
}
