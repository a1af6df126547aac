// Scan and exscan.
#include "lci/coll/scan.h"

#include "lci/api/reduce.hpp"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/schedule.h"

namespace lci {
namespace rt {

// Before the round with distance d, `partial` combines the items of the d ranks up to this one, and
// goes to the rank d behind.
void scan_by_doubling(collective_schedule* p, const coll::reduction& what, coll::scan_kind kind,
                      char* room) {
  const size_t bytes = what.size;
  const size_t count = bytes / what.item_size;
  const bool is_exclusive = kind == coll::scan_kind::exclusive;
  char* partial = room;
  char* received = partial + bytes;
  char* const before = received + bytes;  // exscan: the items of the ranks before this one
  bool has_before = false;
  p->copy(partial, what.sendbuf, bytes);
  p->then();
  uint32_t round = 0;
  for (int distance = 1; distance < p->size(); distance *= 2, ++round) {
    const bool sends = p->rank() + distance < p->size();
    const bool receives = p->rank() >= distance;
    if (sends) p->send(p->rank() + distance, partial, bytes, round);
    if (receives) p->receive(p->rank() - distance, received, bytes, round);
    p->then();
    if (!receives) continue;
    if (is_exclusive) {
      if (has_before) {
        p->reduce(what.op, received, before, before, count);
      } else {
        p->copy(before, received, bytes);
      }
      has_before = true;
    }
    // The operator writes to its right operand or elsewhere.
    p->reduce(what.op, received, partial, partial, count);
    p->then();
  }
  if (!is_exclusive) {
    p->copy(what.recvbuf, partial, bytes);
  } else if (has_before) {
    p->copy(what.recvbuf, before, bytes);
  }
}

namespace {

template <class Op>
void run_scan(const Op& op, coll::operation_kind name, coll::scan_kind kind) {
  collective_call call(op, name);
  const size_t bytes = bytes_of(op.get_count(), op.get_item_size(), call.name());
  check_op(op.get_op(), call.name());
  check_buffer(op.get_sendbuf(), bytes, call.name(), "sendbuf");
  // Rank 0 has no predecessor.
  if (kind == coll::scan_kind::inclusive || call.rank() > 0) {
    check_buffer(op.get_recvbuf(), bytes, call.name(), "recvbuf");
  }
  call.begin({{}, -1, bytes, op.get_item_size()}, op.get_op());
  const coll::reduction what{op.get_sendbuf(), op.get_recvbuf(), bytes, op.get_item_size(),
                             op.get_op()};
  if (bytes > 0 &&
      call.is_shared(bytes, call.sizes().combined_in_area, coll::fits_pieces(op.get_item_size()))) {
    return call.run<coll::scan>(what, kind);
  }
  if (op.get_deterministic()) {
    const auto operands = static_cast<size_t>(call.rank()) + 1;
    collective_schedule p(call, bytes_of(operands, bytes, call.name()));
    if (bytes > 0) scan_in_fixed_order(&p, what, kind, p.room());
    return p.run();
  }
  if (scan_by_hosts(&call, what, kind)) return;
  collective_schedule p(call, bytes_of(3, bytes, call.name()));
  if (bytes > 0) scan_by_doubling(&p, what, kind, p.room());
  p.run();
}

}  // namespace
}  // namespace rt

void scan_x::operator()() const {
  rt::run_scan(*this, coll::operation_kind::scan, coll::scan_kind::inclusive);
}

void exscan_x::operator()() const {
  rt::run_scan(*this, coll::operation_kind::exscan, coll::scan_kind::exclusive);
}

}  // namespace lci
