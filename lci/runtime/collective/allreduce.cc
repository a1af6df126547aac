// An allreduce by messages, of all ranks or of the leaders of the hosts.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "lci/coll/blocks.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/collective/schedule.h"

namespace lci::rt {
namespace {

// From so many bytes on, an allreduce divides the result among the ranks: each then sends and
// combines fewer bytes, in more messages. (docs/performance/collectives.md has the measurements.)
constexpr size_t least_divided = size_t{512} << 10;

// In rounds that double.
void allreduce_by_doubling(collective_schedule* p, char* buffer, char* spare,
                           const coll::reduction& what) {
  constexpr uint32_t last_round = 64;
  const int n = p->size();
  const size_t count = what.size / what.item_size;
  int power = 1;
  while (2 * power <= n) power *= 2;
  const int pairs = n - power;  // of ranks 0 and 1, 2 and 3, ...: the odd one takes part
  const bool is_paired = p->rank() < 2 * pairs;
  if (is_paired && p->rank() % 2 == 0) {
    p->send(p->rank() + 1, buffer, what.size, 0);
    p->then();
    p->receive(p->rank() + 1, buffer, what.size, last_round);
    return;
  }
  if (is_paired) {
    p->receive(p->rank() - 1, spare, what.size, 0);
    p->then();
    p->reduce(what.op, spare, buffer, buffer, count);
    p->then();
  }
  const int own = is_paired ? p->rank() / 2 : p->rank() - pairs;
  const auto rank_of = [pairs](int number) {
    return number < pairs ? 2 * number + 1 : number + pairs;
  };
  char* work = buffer;
  uint32_t round = 1;
  for (int distance = 1; distance < power; distance *= 2, ++round) {
    const int other = own ^ distance;
    p->send(rank_of(other), work, what.size, round);
    p->receive(rank_of(other), spare, what.size, round);
    p->then();
    if (other < own) {
      p->reduce(what.op, spare, work, work, count);
    } else {
      p->reduce(what.op, work, spare, spare, count);
      std::swap(work, spare);
    }
    p->then();
  }
  if (work != buffer) p->copy(buffer, work, what.size);
  p->then();
  if (is_paired) p->send(p->rank() - 1, buffer, what.size, last_round);
}

piece part_of(const coll::reduction& what, int ranks, int rank) {
  return piece_of(what.size / what.item_size, what.item_size, ranks, rank);
}

}  // namespace

void allreduce_by_parts(collective_schedule* p, char* buffer, char* spare,
                        const coll::reduction& what) {
  coll::block_layout parts;
  for (int r = 0; r < p->size(); ++r) {
    const piece each = part_of(what, p->size(), r);
    parts.blocks.push_back({each.begin, each.bytes()});
  }
  const coll::block_layout::block own = parts.of(p->rank());
  char* const result = buffer + own.offset;
  reduce_directly(p, {buffer, result, own.size, what.item_size, what.op}, parts, spare);
  p->then();
  allgatherv_by_ring(p, result, buffer, parts, 0);
}

void allreduce_by_messages(collective_schedule* p, char* buffer, char* spare,
                           const coll::reduction& what) {
  (what.size < least_divided ? allreduce_by_doubling : allreduce_by_parts)(p, buffer, spare, what);
}

size_t spare_of_allreduce(const coll::reduction& what, int ranks) {
  return what.size < least_divided ? what.size : spare_of_parts(what, ranks);
}

size_t spare_of_parts(const coll::reduction& what, int ranks) {
  // Those of the first part, which is as large as any, of all other ranks.
  return bytes_of(static_cast<size_t>(ranks) - 1, part_of(what, ranks, 0).bytes(), "allreduce");
}

}  // namespace lci::rt
