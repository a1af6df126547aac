// Reductions of the option `deterministic` by messages: items are combined as in shared memory,
// x0 op (x1 op (x2 ...)), so that results depend on neither hosts nor networks.
#include <cstddef>

#include "lci/coll/blocks.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/collective/schedule.h"

namespace lci::rt {
namespace {

// Smaller results go to every rank at once, instead of a part to each.
constexpr size_t least_divided = size_t{4} << 10;

// The last of `slots` operands of what.size bytes, one behind the other, becomes all of them
// combined. Returns it.
char* combine_slots(collective_schedule* p, char* room, int slots, const coll::reduction& what) {
  const size_t count = what.size / what.item_size;
  char* const right = room + static_cast<size_t>(slots - 1) * what.size;
  for (int i = slots - 2; i >= 0; --i) {
    p->reduce(what.op, room + static_cast<size_t>(i) * what.size, right, right, count);
    p->then();
  }
  return right;
}

void allreduce_in_fixed_order(collective_schedule* p, const coll::reduction& what) {
  if (what.size < least_divided) {
    coll::block_layout shares;  // each is the whole
    shares.blocks.assign(static_cast<size_t>(p->size()), {0, what.size});
    reduce_directly(p, what, shares, p->room());
    return;
  }
  if (what.recvbuf != what.sendbuf) p->copy(what.recvbuf, what.sendbuf, what.size);
  p->then();
  allreduce_by_parts(p, static_cast<char*>(what.recvbuf), p->room(), what);
}

}  // namespace

void run_fixed_allreduce(const collective_call& call, const coll::reduction& what) {
  const auto others = static_cast<size_t>(call.size()) - 1;
  collective_schedule p(call, what.size < least_divided ? bytes_of(others, what.size, call.name())
                                                        : spare_of_parts(what, call.size()));
  if (what.size > 0) allreduce_in_fixed_order(&p, what);
  p.run();
}

void reduce_in_fixed_order(collective_schedule* p, const coll::reduction& what, int root,
                           char* room) {
  if (p->rank() != root) {
    p->send(root, what.sendbuf, what.size, 0);
    return;
  }
  for (int r = 0; r < p->size(); ++r) {
    char* const slot = room + static_cast<size_t>(r) * what.size;
    if (r == root) {
      p->copy(slot, what.sendbuf, what.size);
    } else {
      p->receive(r, slot, what.size, 0);
    }
  }
  p->then();
  p->copy(what.recvbuf, combine_slots(p, room, p->size(), what), what.size);
}

void scan_in_fixed_order(collective_schedule* p, const coll::reduction& what, coll::scan_kind kind,
                         char* room) {
  const int before = p->rank();
  for (int r = before + 1; r < p->size(); ++r) p->send(r, what.sendbuf, what.size, 0);
  for (int r = 0; r < before; ++r) {
    p->receive(r, room + static_cast<size_t>(r) * what.size, what.size, 0);
  }
  const int operands = kind == coll::scan_kind::inclusive ? before + 1 : before;
  if (operands == 0) return;
  if (operands > before) {
    p->copy(room + static_cast<size_t>(before) * what.size, what.sendbuf, what.size);
  }
  p->then();
  p->copy(what.recvbuf, combine_slots(p, room, operands, what), what.size);
}

}  // namespace lci::rt
