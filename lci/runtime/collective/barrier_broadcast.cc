// Barrier and broadcast.

#include "lci/api/coll.hpp"
#include "lci/coll/operations.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/layouts.h"
#include "lci/runtime/collective/schedule.h"
#include "lci/runtime/collective/thread_team.h"

namespace lci {
namespace rt {

// A binomial tree: in the round with distance d = 1, 2, 4, ... the ranks below d (counted from the
// root) send to those d above them.
void broadcast_by_tree(collective_schedule* p, void* buffer, size_t size, int root,
                       uint32_t round) {
  const int n = p->size();
  const int place = (p->rank() - root + n) % n;
  int distance = 1;
  if (place > 0) {
    while (2 * distance <= place) distance *= 2;
    p->receive((place - distance + root) % n, buffer, size, round);
    p->then();
    distance *= 2;
  }
  for (; distance < n; distance *= 2) {
    if (place + distance < n) p->send((place + distance + root) % n, buffer, size, round);
  }
}

void broadcast_directly(collective_schedule* p, void* buffer, size_t size, int root,
                        uint32_t round) {
  if (p->rank() != root) {
    p->receive(root, buffer, size, round);
    return;
  }
  for (int i = 1; i < p->size(); ++i) p->send((root + i) % p->size(), buffer, size, round);
}

// In pieces from each rank to the next one: all links are busy once the first piece has come
// around.
void broadcast_by_ring(collective_schedule* p, void* buffer, size_t size, int root, int steps,
                       uint32_t round) {
  const int n = p->size();
  const int place = (p->rank() - root + n) % n;
  char* const bytes = static_cast<char*>(buffer);
  for (int i = 0; i < steps; ++i, ++round) {
    const piece part = piece_of(size, 1, steps, i);
    collective_schedule::step came = nullptr;
    if (place > 0) {
      came = p->receive((p->rank() - 1 + n) % n, bytes + part.begin, part.bytes(), round);
    }
    if (place + 1 < n) {
      const collective_schedule::step goes =
          p->send((p->rank() + 1) % n, bytes + part.begin, part.bytes(), round);
      if (came != nullptr) p->order(came, goes);
    }
  }
}

void barrier_by_dissemination(collective_schedule* p, uint32_t round) {
  for (int distance = 1; distance < p->size(); distance *= 2, ++round) {
    p->receive((p->rank() - distance + p->size()) % p->size(), nullptr, 0, round);
    p->send((p->rank() + distance) % p->size(), nullptr, 0, round);
    p->then();
  }
}

namespace {

void broadcast_by_messages(const collective_call& call, const broadcast_x& asked, void* buffer,
                           int steps) {
  collective_schedule p(call);
  const size_t size = asked.get_size();
  const int root = asked.get_root();
  broadcast_algorithm_t algorithm = asked.get_algorithm();
  if (algorithm == broadcast_algorithm_t::none) {
    algorithm = size >= ring_threshold && p.size() > 2 ? broadcast_algorithm_t::ring
                                                       : broadcast_algorithm_t::tree;
  }
  if (algorithm == broadcast_algorithm_t::direct) {
    broadcast_directly(&p, buffer, size, root, 0);
  } else if (algorithm == broadcast_algorithm_t::ring) {
    broadcast_by_ring(&p, buffer, size, root, steps, 0);
  } else {
    broadcast_by_tree(&p, buffer, size, root, 0);
  }
  p.run();
}

}  // namespace

void run_barrier(collective_call* call) {
  call->begin({});
  if (call->is_shared(0, 0)) return call->run<coll::barrier>();
  if (barrier_by_hosts(call)) return;
  collective_schedule p(*call);
  barrier_by_dissemination(&p, 0);
  p.run();
}

void final_barrier(runtime_t runtime) {
  collective_call call(barrier_x().runtime(runtime), coll::operation_kind::finalization);
  run_barrier(&call);
}

}  // namespace rt

void barrier_x::operator()() const {
  if (!get_thread_team().is_empty()) {
    return rt::thread_call(*this, coll::operation_kind::barrier).barrier();
  }
  rt::collective_call call(*this, coll::operation_kind::barrier);
  rt::run_barrier(&call);
}

void broadcast_x::operator()() const {
  if (!get_thread_team().is_empty()) {
    rt::thread_call call(*this, coll::operation_kind::broadcast);
    call.refuse(get_algorithm() != broadcast_algorithm_t::none, "algorithm");
    call.refuse(get_layout() != nullptr, "layout");
    return call.broadcast(get_buffer(), get_size(), get_root());
  }
  rt::collective_call call(*this, coll::operation_kind::broadcast);
  rt::check_root(get_root(), call.size(), call.name());
  rt::check_buffer(get_buffer(), get_size(), call.name(), "buffer");
  const int steps = rt::ring_steps(get_ring_nsteps(), call.size(), call.name());
  void* buffer = get_buffer();
  if (call.rank() == get_root()) {
    // The operation only reads it.
    buffer = const_cast<void*>(rt::send_buffer(&call, buffer, get_layout(), get_size(), "layout"));
  } else {
    buffer = rt::receive_buffer(&call, buffer, get_layout(), get_size(), "layout");
  }
  call.begin({{}, get_root(), get_size()});
  if (get_algorithm() == broadcast_algorithm_t::none &&
      call.is_shared(get_size(), call.sizes().copied_in_area, coll::fits_pieces(1))) {
    return call.run<coll::broadcast>(buffer, get_size(), get_root());
  }
  if (get_algorithm() == broadcast_algorithm_t::none &&
      rt::broadcast_by_hosts(&call, buffer, get_size(), get_root())) {
    return;
  }
  rt::broadcast_by_messages(call, *this, buffer, steps);
}

}  // namespace lci
