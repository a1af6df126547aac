// Diffusion on a ring of cells, which is divided among the ranks. Each step needs a cell of either
// neighbor, which that neighbor puts where it is needed. Signals say when it has arrived.
//   lcrun -n 4 halo
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lci.hpp"

namespace {

constexpr size_t cells = 1000;        // of each rank: 1 to `cells` of its arrays
constexpr size_t length = cells + 2;  // of an array: cells 0 and cells + 1 are the neighbors'
constexpr int steps = 500;

double start_at(size_t cell) { return static_cast<double>(cell % 17); }

// One step of cells 1 to `count`.
void diffuse(const double* from, double* to, size_t count) {
  for (size_t i = 1; i <= count; ++i) {
    to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
  }
}

// Returns the result of diffuse() for `count` cells of a ring: cells 1 to `count`.
std::vector<double> diffuse_ring(size_t count) {
  std::vector<double> now(count + 2);
  for (size_t i = 1; i <= count; ++i) now[i] = start_at(i - 1);
  std::vector<double> next(count + 2);
  for (int step = 0; step < steps; ++step) {
    now[0] = now[count];
    now[count + 1] = now[1];
    diffuse(now.data(), next.data(), count);
    now.swap(next);
  }
  return now;
}

// [begin block]
// The cells of a rank that its neighbors put to.
struct halo {
  lci::block_t left;
  lci::block_t right;
};

// Cell `cell` of array `array`. A put to the block is an event of the signal `arrived`.
lci::block_t make_block(lci::mr_t memory, size_t array, size_t cell, lci::comp_t arrived) {
  return lci::make_block_x(memory, (array * length + cell) * sizeof(double), sizeof(double))
      .recv_signal(arrived)();
}
// [end block]

}  // namespace

int main() {
  lci::g_runtime_init();
  const auto rank = static_cast<size_t>(lci::get_rank_me());
  const auto ranks = static_cast<size_t>(lci::get_rank_n());

  // [begin record]
  // Each step reads one array and writes the other. Each array has a signal and a plan.
  lci::mr_t memory = lci::alloc_mr(2 * length * sizeof(double));
  auto* const values = static_cast<double*>(lci::get_mr_address(memory));
  double* const array[2] = {values, values + length};
  lci::comp_t arrived[2];
  lci::plan_t plan[2];
  for (size_t a = 0; a < 2; ++a) {
    arrived[a] = lci::alloc_signal(2);  // two events: a cell from either neighbor
    const halo mine = {make_block(memory, a, 0, arrived[a]),
                       make_block(memory, a, cells + 1, arrived[a])};
    std::vector<halo> all(ranks);
    lci::allgather(&mine, all.data(), sizeof(halo));
    const halo& of_left = all[(rank + ranks - 1) % ranks];
    const halo& of_right = all[(rank + 1) % ranks];
    plan[a] = lci::alloc_plan();
    lci::plan_put(plan[a], make_block(memory, a, 1, lci::COMP_NULL), of_left.right);
    lci::plan_put(plan[a], make_block(memory, a, cells, lci::COMP_NULL), of_right.left);
  }
  // [end record]
  for (size_t i = 1; i <= cells; ++i) array[0][i] = start_at(rank * cells + i - 1);

  // [begin steps]
  lci::plan_start(plan[0]);
  for (int step = 0; step < steps; ++step) {
    const int now = step % 2;
    const int next = 1 - now;
    lci::signal_wait(arrived[now]);                       // both cells have arrived
    lci::signal_reset(arrived[now]);                      // for the step after the next one
    while (!lci::plan_test(plan[next])) lci::progress();  // its cells may be written
    diffuse(array[now], array[next], cells);
    lci::plan_start(plan[next]);
  }
  const int last = steps % 2;
  lci::signal_wait(arrived[last]);
  // [end steps]

  const std::vector<double> ring = diffuse_ring(ranks * cells);
  bool correct = true;
  for (size_t i = 1; i <= cells; ++i) {
    correct = correct && std::abs(array[last][i] - ring[rank * cells + i]) < 1e-12;
  }
  std::printf("rank %zu: %d steps, %s\n", rank, steps, correct ? "correct" : "WRONG");

  // [begin free]
  for (lci::plan_t& each : plan) {
    while (!lci::plan_test(each)) lci::progress();
    lci::free_plan(&each);
  }
  lci::barrier();  // no rank puts to this memory any more
  for (lci::comp_t& each : arrived) lci::free_comp(&each);
  lci::free_mr(&memory);
  // [end free]
  lci::g_runtime_fina();
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}
