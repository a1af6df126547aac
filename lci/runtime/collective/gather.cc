// Allgather and alltoall.
#include <algorithm>

#include "lci/api/coll.hpp"
#include "lci/coll/operations.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/layouts.h"
#include "lci/runtime/collective/schedule.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace rt {
namespace {

// Blocks travel in rounds that double (Bruck et al., "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", 1997): after each, the room holds the
// blocks of the next ranks, beginning with our own.
void allgather_by_doubling(collective_schedule* p, const void* sendbuf, void* recvbuf,
                           size_t size) {
  const int n = p->size();
  char* const work = p->room();
  p->copy(work, sendbuf, size);
  p->then();
  uint32_t round = 0;
  for (int have = 1; have < n; have *= 2, ++round) {
    const size_t bytes = static_cast<size_t>(std::min(have, n - have)) * size;
    p->receive((p->rank() + have) % n, work + static_cast<size_t>(have) * size, bytes, round);
    p->send((p->rank() - have + n) % n, work, bytes, round);
    p->then();
  }
  char* const out = static_cast<char*>(recvbuf);
  const auto below = static_cast<size_t>(p->rank());  // ranks whose blocks come last in the room
  const size_t from_us = (static_cast<size_t>(n) - below) * size;
  p->copy(out + below * size, work, from_us);
  p->copy(out, work + from_us, below * size);
}

// Each rank sends on what it received last, in place.
void allgather_by_ring(collective_schedule* p, const void* sendbuf, void* recvbuf, size_t size) {
  const int n = p->size();
  char* const out = static_cast<char*>(recvbuf);
  const auto block = [&](int rank) { return out + static_cast<size_t>((rank + n) % n) * size; };
  if (sendbuf != block(p->rank())) p->copy(block(p->rank()), sendbuf, size);
  p->then();
  for (int i = 1; i < n; ++i) {
    const auto round = static_cast<uint32_t>(i);
    p->receive((p->rank() - 1 + n) % n, block(p->rank() - i), size, round);
    p->send((p->rank() + 1) % n, block(p->rank() - i + 1), size, round);
    p->then();
  }
}

}  // namespace

void run_allgather(collective_call* call, const void* sendbuf, void* recvbuf, size_t size) {
  call->begin({{}, -1, size});
  if (size > 0 && call->is_shared(size, call->sizes().copied_in_area, coll::fits_pieces(1))) {
    return call->run<coll::allgather>(sendbuf, recvbuf, size);
  }
  if (call->by_hosts(0, 0) != nullptr &&
      allgather_by_hosts(call, sendbuf, recvbuf, coll::equal_blocks(call->size(), size))) {
    return;
  }
  const size_t all = static_cast<size_t>(call->size()) * size;
  const bool small = all < ring_threshold;
  collective_schedule p(*call, small ? all : 0);
  if (size > 0) {
    (small ? allgather_by_doubling : allgather_by_ring)(&p, sendbuf, recvbuf, size);
  }
  p.run();
}

}  // namespace rt

void allgather_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::allgather);
  const auto n = static_cast<size_t>(call.size());
  const size_t all = rt::bytes_of(n, get_size(), "allgather");
  rt::check_buffer(get_sendbuf(), get_size(), "allgather", "sendbuf");
  rt::check_buffer(get_recvbuf(), all, "allgather", "recvbuf");
  const void* const sendbuf =
      rt::send_buffer(&call, get_sendbuf(), get_sendlayout(), get_size(), "sendlayout");
  const auto sizes = rt::equal_sizes(call, get_recvlayouts(), get_size());
  void* const recvbuf =
      rt::receive_buffer(&call, get_recvbuf(), get_recvlayouts(), sizes, "recvlayouts");
  rt::run_allgather(&call, sendbuf, recvbuf, get_size());
}

// Everybody to everybody, beginning with the neighbour, so that not all send to rank 0 first.
void alltoall_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::alltoall);
  const auto n = static_cast<size_t>(call.size());
  const size_t all = rt::bytes_of(n, get_size(), "alltoall");
  rt::check_buffer(get_sendbuf(), all, "alltoall", "sendbuf");
  rt::check_buffer(get_recvbuf(), all, "alltoall", "recvbuf");
  const auto sent = rt::equal_sizes(call, get_sendlayouts(), get_size());
  const void* const sendbuf =
      rt::send_buffer(&call, get_sendbuf(), get_sendlayouts(), sent, "sendlayouts");
  const auto received = rt::equal_sizes(call, get_recvlayouts(), get_size());
  void* const recvbuf =
      rt::receive_buffer(&call, get_recvbuf(), get_recvlayouts(), received, "recvlayouts");
  call.begin({{}, -1, get_size()});
  if (get_size() > 0 &&
      call.is_shared(all, call.sizes().copied_in_area, coll::fits_pieces(1, call.size() - 1))) {
    return call.run<coll::alltoall>(sendbuf, recvbuf, get_size());
  }
  if (rt::alltoall_by_hosts(&call, sendbuf, recvbuf, get_size())) return;
  rt::collective_schedule p(call);
  const char* const out = static_cast<const char*>(sendbuf);
  char* const in = static_cast<char*>(recvbuf);
  const auto rank = static_cast<size_t>(p.rank());
  if (get_size() > 0) {
    p.copy(in + rank * get_size(), out + rank * get_size(), get_size());
    for (size_t i = 1; i < n; ++i) {
      const size_t from = (rank + n - i) % n;
      const size_t to = (rank + i) % n;
      p.receive(static_cast<int>(from), in + from * get_size(), get_size(), 0);
      p.send(static_cast<int>(to), out + to * get_size(), get_size(), 0);
    }
  }
  p.run();
}

}  // namespace lci
