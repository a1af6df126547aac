// Parts that several collectives are made of. Each adds steps to a plan; `round` is the first of
// the rounds that its messages use.
#ifndef LCI_RUNTIME_COLLECTIVE_ALGORITHMS_H_
#define LCI_RUNTIME_COLLECTIVE_ALGORITHMS_H_

#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"
#include "lci/runtime/collective/plan.h"

namespace lci::rt {

// From so many bytes on, `none` means ring where there is one: each rank then sends the buffer
// about once, while a tree's root sends it log2(ranks) times.
constexpr size_t ring_threshold = size_t{256} << 10;

// Part i of `parts` of a buffer of `count` items.
struct piece {
  size_t begin;  // bytes
  size_t count;  // items
  size_t item_size;
  size_t bytes() const { return count * item_size; }
};
inline piece piece_of(size_t count, size_t item_size, int parts, int i) {
  const auto n = static_cast<size_t>(parts);
  const auto k = static_cast<size_t>(i);
  // The first count % n parts have one more.
  const size_t small = count / n;
  const size_t larger = count % n;
  const size_t begin = k * small + (k < larger ? k : larger);
  return {begin * item_size, small + (k < larger ? 1 : 0), item_size};
}

// The option ring_nsteps; its default is size - 1. Throws std::invalid_argument.
int ring_steps(int asked, int size, const char* what);

// Whole operations, of a call that has not begun.
void run_barrier(collective_call* call);
// Arguments as of allgather_x, checked.
void run_allgather(collective_call* call, const void* sendbuf, void* recvbuf, size_t size);

void broadcast_by_tree(plan* p, void* buffer, size_t size, int root, uint32_t round);
void broadcast_directly(plan* p, void* buffer, size_t size, int root, uint32_t round);
void broadcast_by_ring(plan* p, void* buffer, size_t size, int root, int steps, uint32_t round);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_ALGORITHMS_H_
