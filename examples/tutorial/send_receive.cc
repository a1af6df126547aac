// The ranks stand in a ring. Each rank exchanges an array with both of its neighbors.
//   lcrun -n 4 send_receive
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lci.hpp"

namespace {

using numbers = std::vector<double>;

// The bytes that `rank` sends with `tag`.
numbers make_numbers(int rank, lci::tag_t tag, size_t count) {
  numbers made(count);
  for (size_t i = 0; i < count; ++i) {
    made[i] = 1000.0 * rank + 100.0 * static_cast<double>(tag) + static_cast<double>(i % 100);
  }
  return made;
}

// [begin submit]
// Posts until the library accepts the operation.
template <class Operation>
void submit(Operation operation) {
  // Never answer `done`: then the completion object reports each operation, also one that was
  // complete at once.
  operation.allow_done(false);
  while (operation().is_retry()) lci::progress();
}
// [end submit]

// Returns whether both arrays have arrived as they were sent.
bool exchange(lci::tag_t round, size_t count) {
  // [begin tags]
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;
  // In a job of two ranks both neighbors are the same rank: the tag tells the two messages apart.
  const lci::tag_t rightward = 2 * round;
  const lci::tag_t leftward = 2 * round + 1;
  // [end tags]
  const numbers to_left = make_numbers(rank, leftward, count);
  const numbers to_right = make_numbers(rank, rightward, count);
  numbers from_left(count);
  numbers from_right(count);
  const size_t bytes = count * sizeof(double);

  // [begin exchange]
  lci::comp_t all = lci::alloc_sync_x().threshold(4)();
  submit(lci::post_recv_x(left, from_left.data(), bytes, rightward, all));
  submit(lci::post_recv_x(right, from_right.data(), bytes, leftward, all));
  submit(lci::post_send_x(right, to_right.data(), bytes, rightward, all));
  submit(lci::post_send_x(left, to_left.data(), bytes, leftward, all));

  std::array<lci::status_t, 4> statuses;
  lci::sync_wait(all, statuses.data());  // makes progress until all four are complete
  lci::free_comp(&all);
  // [end exchange]

  // [begin check]
  for (const lci::status_t& each : statuses) {
    if (!each.is_done()) return false;  // `fatal`: the peer is gone, for example
  }
  return from_left == make_numbers(left, rightward, count) &&
         from_right == make_numbers(right, leftward, count);
  // [end check]
}

}  // namespace

int main() {
  lci::g_runtime_init();
  bool correct = true;
  // [begin sizes]
  lci::tag_t round = 0;
  for (const size_t count : std::array<size_t, 4>{0, 1, 1000, 100000}) {
    const bool good = exchange(round++, count);
    std::printf("rank %d: %zu numbers each way %s\n", lci::get_rank_me(), count,
                good ? "correct" : "WRONG");
    correct = correct && good;
  }
  // [end sizes]
  lci::g_runtime_fina();
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}
