// Parts that several collectives are made of. Each adds steps to a schedule; `round` is the first
// of the rounds that its messages use.
#ifndef LCI_RUNTIME_COLLECTIVE_ALGORITHMS_H_
#define LCI_RUNTIME_COLLECTIVE_ALGORITHMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"
#include "lci/coll/blocks.h"
#include "lci/coll/scan.h"
#include "lci/runtime/collective/schedule.h"

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

// The option ring_nsteps, which is not its default. Throws std::invalid_argument.
int checked_ring_steps(int asked, const char* what);
// The option ring_nsteps; its default is size - 1. Throws std::invalid_argument.
inline int ring_steps(int asked, int size, const char* what) {
  return __builtin_expect(asked == RING_NSTEPS_DEFAULT, 1) ? std::max(1, size - 1)
                                                           : checked_ring_steps(asked, what);
}

// Whole operations, of a call that has not begun.
void run_barrier(collective_call* call);
// Arguments as of allgather_x, checked.
void run_allgather(collective_call* call, const void* sendbuf, void* recvbuf, size_t size);

// Dissemination: in round k each rank hears from the one 2^k below it (Hensgen, Finkel and Manber,
// "Two algorithms for barrier synchronization", 1988).
void barrier_by_dissemination(collective_schedule* p, uint32_t round);
// As allgather_by_doubling: the room, of the bytes of all blocks, holds the blocks of the next
// ranks, one behind the other, beginning with our own. `sendbuf` may be this rank's block of `out`.
// From round 0 on.
void allgatherv_by_doubling(collective_schedule* p, const void* sendbuf, char* out,
                            const coll::block_layout& blocks);
// Each rank sends on what it received last, in place. Round `round` is not used, the ranks - 1
// after it are.
void allgatherv_by_ring(collective_schedule* p, const void* sendbuf, char* out,
                        const coll::block_layout& blocks, uint32_t round);
// Every rank gets its share of the send buffer of every rank, and combines them in the order of
// ranks. `shares`: the same on all ranks; asked.size is that of this rank. `room`: so many bytes
// for each of the others. In round 0.
void reduce_directly(collective_schedule* p, const coll::reduction& asked,
                     const coll::block_layout& shares, char* room);
// Every rank has the result in `buffer`, which holds its items before. All ranks combine in the
// order of ranks. A small buffer goes in rounds that double: before round k, each of 2^k ranks that
// follow each other has their items combined (recursive doubling: Thakur, Rabenseifner and Gropp,
// "Optimization of collective communication operations in MPICH", 2005, where ranks beyond a power
// of two join their neighbor before and hear of the result after). Of a large buffer, each rank
// combines its part of the items of all ranks, and sends the result to all: it then sends and
// receives less than twice the bytes of the buffer. `spare` has the bytes of spare_of_allreduce().
void allreduce_by_messages(collective_schedule* p, char* buffer, char* spare,
                           const coll::reduction& what);
// Throws std::invalid_argument if there is no address space for so many bytes.
size_t spare_of_allreduce(const coll::reduction& what, int ranks);
// The above of a large buffer, for any size; `spare` has the bytes of spare_of_parts(). Each part is
// combined from the last rank to the first.
void allreduce_by_parts(collective_schedule* p, char* buffer, char* spare,
                        const coll::reduction& what);
size_t spare_of_parts(const coll::reduction& what, int ranks);

// The ways of the option `deterministic`: reduce_directly() and these combine items as x0 op (x1 op
// (x2 ...)), as shared memory does. `room`: at the root, so many bytes for each
// rank; so many for this rank and each before it. The buffers may be one.
void run_fixed_allreduce(const collective_call& call, const coll::reduction& what);
void reduce_in_fixed_order(collective_schedule* p, const coll::reduction& what, int root,
                           char* room);
void scan_in_fixed_order(collective_schedule* p, const coll::reduction& what, coll::scan_kind kind,
                         char* room);

// In rounds that double (Hillis and Steele, "Data parallel algorithms", 1986). `room`: 3 times the
// bytes. what.recvbuf of rank 0 keeps its bytes if the scan is exclusive.
void scan_by_doubling(collective_schedule* p, const coll::reduction& what, coll::scan_kind kind,
                      char* room);

void broadcast_by_tree(collective_schedule* p, void* buffer, size_t size, int root, uint32_t round);
void broadcast_directly(collective_schedule* p, void* buffer, size_t size, int root,
                        uint32_t round);
void broadcast_by_ring(collective_schedule* p, void* buffer, size_t size, int root, int steps,
                       uint32_t round);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_ALGORITHMS_H_
