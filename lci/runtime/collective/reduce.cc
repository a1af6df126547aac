// Reduce, allreduce and reduce-scatter. Everywhere neighbouring ranges of ranks are joined in their
// order, so that an operator need not be commutative, and all ranks that get a result get the same
// bytes: it is computed by one, or by all in the same order.
#include <stdexcept>
#include <utility>
#include <vector>

#include "lci/api/coll.hpp"
#include "lci/base/strings.h"
#include "lci/coll/operations.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/schedule.h"
#include "lci/runtime/collective/thread_team.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace rt {

int checked_ring_steps(int asked, const char* what) {
  if (asked < 0) {
    throw std::invalid_argument(base::StrCat("lci: ", what, ": ring_nsteps is ", asked));
  }
  // An allreduce takes so many rounds twice.
  constexpr auto most = static_cast<int>(collective_schedule::most_rounds / 4);
  if (asked > most) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": ring_nsteps is ", asked, ", more than ", most));
  }
  return asked;
}

namespace {

// Of what a rank sends that has a result of reduce_by_tree, which takes fewer rounds.
constexpr uint32_t first_round_down = 64;

struct items {
  size_t count;
  size_t item_size;
  reduce_op_t op;
  size_t bytes() const { return count * item_size; }
};

// Up a binomial tree to rank 0. `work` of each rank begins as its items and covers more and more
// ranks from its own on; that of rank 0 ends as the result. `spare` is as large.
void reduce_by_tree(collective_schedule* p, char* work, char* spare, const items& what,
                    uint32_t round) {
  const int n = p->size();
  for (int distance = 1; distance < n; distance *= 2, ++round) {
    if ((p->rank() & distance) != 0) {
      p->send(p->rank() - distance, work, what.bytes(), round);
      p->then();
      return;
    }
    if (p->rank() + distance >= n) continue;
    p->receive(p->rank() + distance, spare, what.bytes(), round);
    p->then();
    // The operator writes to its right operand or elsewhere.
    p->reduce(what.op, work, spare, spare, what.count);
    p->then();
    std::swap(work, spare);
  }
  p->then();
}

// Where reduce_by_tree leaves the result of rank 0.
char* result_of_tree(const collective_schedule& p, char* work, char* spare) {
  for (int distance = 1; distance < p.size(); distance *= 2) std::swap(work, spare);
  return work;
}

// In `steps` pieces from rank 0 along all ranks to the last one, each adding its items on the way.
// `right` holds our items and is overwritten with those of all ranks up to ours; `left` has room
// for as many. Returns for each piece the step after which it is there, in the last rank the
// result.
std::vector<collective_schedule::step> reduce_by_chain(collective_schedule* p, char* left,
                                                       char* right, const items& what, int steps,
                                                       uint32_t round) {
  std::vector<collective_schedule::step> last;
  for (int i = 0; i < steps; ++i, ++round) {
    const piece part = piece_of(what.count, what.item_size, steps, i);
    collective_schedule::step there = nullptr;
    if (p->rank() > 0) {
      const collective_schedule::step came =
          p->receive(p->rank() - 1, left + part.begin, part.bytes(), round);
      there =
          p->reduce(what.op, left + part.begin, right + part.begin, right + part.begin, part.count);
      p->order(came, there);
    }
    if (p->rank() + 1 < p->size()) {
      const collective_schedule::step goes =
          p->send(p->rank() + 1, right + part.begin, part.bytes(), round);
      if (there != nullptr) p->order(there, goes);
      there = goes;
    }
    last.push_back(there);
  }
  return last;
}

// Allreduce: the items are combined along all ranks, and the result continues around the ring.
void allreduce_by_ring(collective_schedule* p, const coll::reduction& asked, const items& what,
                       int steps) {
  char* const out = static_cast<char*>(asked.recvbuf);
  if (out != asked.sendbuf) p->copy(out, asked.sendbuf, what.bytes());
  p->then();
  reduce_by_chain(p, p->room(), out, what, steps, 0);
  p->then();
  broadcast_by_ring(p, out, what.bytes(), p->size() - 1, steps, static_cast<uint32_t>(steps));
}

// Allreduce: to rank 0 and back. Room: twice the bytes.
void allreduce_by_tree(collective_schedule* p, const coll::reduction& asked, const items& what) {
  char* const work = p->room();
  char* const spare = work + what.bytes();
  p->copy(work, asked.sendbuf, what.bytes());
  p->then();
  reduce_by_tree(p, work, spare, what, 0);
  if (p->rank() == 0) p->copy(asked.recvbuf, result_of_tree(*p, work, spare), what.bytes());
  p->then();
  broadcast_by_tree(p, asked.recvbuf, what.bytes(), 0, first_round_down);
}

// Reduce-scatter: one rank gets the results of all, and sends each rank its block. `steps`: pieces
// of a chain; 0: by a tree. Room: twice the bytes of all blocks.
void reduce_and_send(collective_schedule* p, const coll::reduction& asked, size_t block,
                     const items& all, int steps) {
  char* work = p->room();
  char* const spare = work + all.bytes();
  p->copy(work, asked.sendbuf, all.bytes());
  p->then();
  int holder = 0;
  uint32_t round = first_round_down;
  if (steps == 0) {
    reduce_by_tree(p, work, spare, all, 0);
    work = result_of_tree(*p, work, spare);
  } else {
    reduce_by_chain(p, spare, work, all, steps, 0);
    p->then();
    holder = p->size() - 1;
    round = static_cast<uint32_t>(steps);
  }
  if (p->rank() != holder) {
    p->receive(holder, asked.recvbuf, block, round);
    return;
  }
  const auto result_of = [=](int rank) { return work + static_cast<size_t>(rank) * block; };
  p->copy(asked.recvbuf, result_of(holder), block);
  for (int to = 0; to < p->size(); ++to) {
    if (to != holder) p->send(to, result_of(to), block, round);
  }
}

template <class Op>
coll::reduction reduction_of(const Op& op, size_t bytes) {
  return {op.get_sendbuf(), op.get_recvbuf(), bytes, op.get_item_size(), op.get_op()};
}

}  // namespace

void reduce_directly(collective_schedule* p, const coll::reduction& asked,
                     const coll::block_layout& shares, char* room) {
  const char* const sendbuf = static_cast<const char*>(asked.sendbuf);
  char* const recvbuf = static_cast<char*>(asked.recvbuf);
  const size_t count = asked.size / asked.item_size;
  const int n = p->size();
  const auto slot = [&](int rank) {
    const auto index = static_cast<size_t>(rank < p->rank() ? rank : rank - 1);
    return room + index * asked.size;
  };
  for (int i = 1; i < n; ++i) {
    const int from = (p->rank() - i + n) % n;
    const int to = (p->rank() + i) % n;
    p->receive(from, slot(from), asked.size, 0);
    p->send(to, sendbuf + shares.of(to).offset, shares.of(to).size, 0);
  }
  p->then();
  // From the right: the items of rank n-1 become the right operand of all. The part of recvbuf that
  // overlaps sendbuf has been sent by now.
  const char* const own = sendbuf + shares.of(p->rank()).offset;
  const auto items_of = [&](int rank) { return rank == p->rank() ? own : slot(rank); };
  if (recvbuf != items_of(n - 1) && n - 1 != p->rank() && recvbuf == own) {
    // recvbuf still holds the items of this rank: they are combined before it is written.
    char* right = slot(n - 1);
    for (int rank = n - 2; rank >= 0; --rank) {
      p->reduce(asked.op, items_of(rank), right, right, count);
      p->then();
    }
    p->copy(recvbuf, right, asked.size);
    return;
  }
  if (recvbuf != items_of(n - 1)) p->copy(recvbuf, items_of(n - 1), asked.size);
  p->then();
  for (int rank = n - 2; rank >= 0; --rank) {
    p->reduce(asked.op, items_of(rank), recvbuf, recvbuf, count);
    p->then();
  }
}
}  // namespace rt

void reduce_x::operator()() const {
  if (!get_thread_team().is_empty()) {
    rt::thread_call call(*this, coll::operation_kind::reduce);
    call.refuse(get_deterministic(), "deterministic");
    return call.reduce(get_sendbuf(), get_recvbuf(), get_count(), get_item_size(), get_op(),
                       get_root());
  }
  const size_t bytes = rt::bytes_of(get_count(), get_item_size(), "reduce");
  rt::check_op(get_op(), "reduce");
  rt::collective_call call(*this, coll::operation_kind::reduce);
  rt::check_root(get_root(), call.size(), "reduce");
  rt::check_buffer(get_sendbuf(), bytes, "reduce", "sendbuf");
  if (call.rank() == get_root()) rt::check_buffer(get_recvbuf(), bytes, "reduce", "recvbuf");
  call.begin({{}, get_root(), bytes, get_item_size()}, get_op());
  if (bytes > 0 &&
      call.is_shared(bytes, call.sizes().combined_in_area, coll::fits_pieces(get_item_size()))) {
    return call.run<coll::reduce>(rt::reduction_of(*this, bytes), get_root());
  }
  if (get_deterministic()) {
    const auto operands = static_cast<size_t>(call.rank() == get_root() ? call.size() : 0);
    rt::collective_schedule p(call, rt::bytes_of(operands, bytes, call.name()));
    if (bytes > 0) {
      rt::reduce_in_fixed_order(&p, rt::reduction_of(*this, bytes), get_root(), p.room());
    }
    return p.run();
  }
  if (rt::reduce_by_hosts(&call, rt::reduction_of(*this, bytes), get_root())) return;
  rt::collective_schedule p(call, 2 * bytes);
  if (bytes > 0) {
    char* const work = p.room();
    char* const spare = work + bytes;
    p.copy(work, get_sendbuf(), bytes);
    p.then();
    rt::reduce_by_tree(&p, work, spare, {get_count(), get_item_size(), get_op()}, 0);
    // From rank 0, which alone has them all in their order, to the root.
    char* const result = rt::result_of_tree(p, work, spare);
    if (get_root() == 0) {
      if (p.rank() == 0) p.copy(get_recvbuf(), result, bytes);
    } else if (p.rank() == 0) {
      p.send(get_root(), result, bytes, rt::first_round_down);
    } else if (p.rank() == get_root()) {
      p.receive(0, get_recvbuf(), bytes, rt::first_round_down);
    }
  }
  p.run();
}

void allreduce_x::operator()() const {
  if (!get_thread_team().is_empty()) {
    rt::thread_call call(*this, coll::operation_kind::allreduce);
    call.refuse(get_algorithm() != allreduce_algorithm_t::none, "algorithm");
    call.refuse(get_deterministic(), "deterministic");
    return call.reduce(get_sendbuf(), get_recvbuf(), get_count(), get_item_size(), get_op(), -1);
  }
  const size_t bytes = rt::bytes_of(get_count(), get_item_size(), "allreduce");
  rt::check_op(get_op(), "allreduce");
  rt::check_buffer(get_sendbuf(), bytes, "allreduce", "sendbuf");
  rt::check_buffer(get_recvbuf(), bytes, "allreduce", "recvbuf");
  rt::collective_call call(*this, coll::operation_kind::allreduce);
  const int steps = rt::ring_steps(get_ring_nsteps(), call.size(), "allreduce");
  call.begin({{}, -1, bytes, get_item_size()}, get_op());
  allreduce_algorithm_t algorithm =
      get_deterministic() ? allreduce_algorithm_t::none : get_algorithm();
  if (algorithm == allreduce_algorithm_t::none && bytes > 0 &&
      call.is_shared(bytes, call.sizes().combined_in_area,
                     coll::fits_pieces(get_item_size(), call.size() - 1))) {
    return call.run<coll::allreduce>(rt::reduction_of(*this, bytes));
  }
  if (algorithm == allreduce_algorithm_t::none &&
      rt::allreduce_by_hosts(&call, rt::reduction_of(*this, bytes), get_deterministic())) {
    return;
  }
  if (get_deterministic()) return rt::run_fixed_allreduce(call, rt::reduction_of(*this, bytes));
  const auto n = static_cast<size_t>(call.size());
  if (algorithm == allreduce_algorithm_t::none && bytes >= rt::ring_threshold && n > 2) {
    algorithm = allreduce_algorithm_t::ring;
  }
  const rt::items what{get_count(), get_item_size(), get_op()};
  const coll::reduction asked = rt::reduction_of(*this, bytes);
  const size_t room =
      algorithm == allreduce_algorithm_t::direct ? rt::bytes_of(n - 1, bytes, "allreduce")
      : algorithm == allreduce_algorithm_t::tree ? 2 * bytes
      : algorithm == allreduce_algorithm_t::ring ? bytes
                                                 : rt::spare_of_allreduce(asked, call.size());
  rt::collective_schedule p(call, room);
  if (bytes == 0) {
    // Nothing to combine.
  } else if (algorithm == allreduce_algorithm_t::direct) {
    coll::block_layout shares;  // each is the whole
    shares.blocks.assign(static_cast<size_t>(call.size()), {0, bytes});
    rt::reduce_directly(&p, asked, shares, p.room());
  } else if (algorithm == allreduce_algorithm_t::ring) {
    rt::allreduce_by_ring(&p, asked, what, steps);
  } else if (algorithm == allreduce_algorithm_t::tree) {
    rt::allreduce_by_tree(&p, asked, what);
  } else {
    if (asked.recvbuf != asked.sendbuf) p.copy(asked.recvbuf, asked.sendbuf, bytes);
    p.then();
    rt::allreduce_by_messages(&p, static_cast<char*>(asked.recvbuf), p.room(), asked);
  }
  p.run();
}

void reduce_scatter_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::reduce_scatter);
  const auto n = static_cast<size_t>(call.size());
  const size_t block = rt::bytes_of(get_recvcount(), get_item_size(), call.name());
  const size_t all = rt::bytes_of(n, block, call.name());
  rt::check_op(get_op(), call.name());
  rt::check_buffer(get_sendbuf(), all, call.name(), "sendbuf");
  rt::check_buffer(get_recvbuf(), block, call.name(), "recvbuf");
  const int steps = rt::ring_steps(get_ring_nsteps(), call.size(), call.name());
  call.begin({{}, -1, block, get_item_size()}, get_op());
  reduce_scatter_algorithm_t algorithm =
      get_deterministic() ? reduce_scatter_algorithm_t::none : get_algorithm();
  if (algorithm == reduce_scatter_algorithm_t::none && all > 0 &&
      call.is_shared(all, call.sizes().combined_in_area,
                     coll::fits_pieces(get_item_size(), call.size() - 1))) {
    return call.run<coll::reduce_scatter>(rt::reduction_of(*this, block));
  }
  if (algorithm == reduce_scatter_algorithm_t::none && !get_deterministic() &&
      call.by_hosts(0, 0) != nullptr &&
      rt::reduce_scatter_by_hosts(&call, rt::reduction_of(*this, block),
                                  coll::equal_blocks(call.size(), block))) {
    return;
  }
  if (algorithm == reduce_scatter_algorithm_t::none) {
    algorithm = reduce_scatter_algorithm_t::direct;  // each block goes where it is needed at once
  }
  const bool direct = algorithm == reduce_scatter_algorithm_t::direct;
  rt::collective_schedule p(call, direct ? all - block : rt::bytes_of(2, all, call.name()));
  const coll::reduction asked = rt::reduction_of(*this, block);
  if (all == 0) {
    // Nothing to combine.
  } else if (direct) {
    rt::reduce_directly(&p, asked, coll::equal_blocks(call.size(), block), p.room());
  } else {
    const bool is_tree = algorithm == reduce_scatter_algorithm_t::tree;
    rt::reduce_and_send(&p, asked, block, {get_recvcount() * n, get_item_size(), get_op()},
                        is_tree ? 0 : steps);
  }
  p.run();
}

void reduce_scatterv_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::reduce_scatterv);
  const std::vector<size_t> sizes =
      rt::sizes_of(get_recvcounts(), get_item_size(), call, "recvcounts");
  const coll::block_layout blocks = rt::layout_of(sizes, nullptr, call.name());
  const size_t all = rt::sum_of(sizes, call.name());
  const coll::block_layout::block own = blocks.of(call.rank());
  rt::check_op(get_op(), call.name());
  rt::check_buffer(get_sendbuf(), all, call.name(), "sendbuf");
  rt::check_buffer(get_recvbuf(), own.size, call.name(), "recvbuf");
  call.begin({{}, -1, all, get_item_size(), coll::hash_of(sizes.data(), sizes.size())}, get_op());
  if (all > 0 && call.is_shared(all, call.sizes().combined_in_area,
                                coll::fits_pieces(get_item_size(), call.size() - 1))) {
    return call.run<coll::reduce_scatterv>(rt::reduction_of(*this, own.size), blocks);
  }
  if (!get_deterministic() &&
      rt::reduce_scatter_by_hosts(&call, rt::reduction_of(*this, own.size), blocks)) {
    return;
  }
  const size_t others = static_cast<size_t>(call.size()) - 1;
  rt::collective_schedule p(call, rt::bytes_of(others, own.size, call.name()));
  if (all > 0) rt::reduce_directly(&p, rt::reduction_of(*this, own.size), blocks, p.room());
  p.run();
}

}  // namespace lci
