// Allgatherv and alltoallv.
#include "lci/coll/blocks.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "lci/api/coll.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/layouts.h"
#include "lci/runtime/collective/schedule.h"

namespace lci {
namespace rt {

void allgatherv_by_doubling(collective_schedule* p, const void* sendbuf, char* out,
                            const coll::block_layout& blocks) {
  const int n = p->size();
  char* const work = p->room();
  const auto block = [&](int distance) { return blocks.of((p->rank() + distance) % n); };
  std::vector<size_t> begins{0};  // of the block at each distance, in the room
  for (int i = 0; i < n; ++i) begins.push_back(begins.back() + block(i).size);
  const auto begin = [&](int distance) { return begins[static_cast<size_t>(distance)]; };
  p->copy(work, sendbuf, block(0).size);
  p->then();
  uint32_t round = 0;
  for (int have = 1; have < n; have *= 2, ++round) {
    const int more = std::min(have, n - have);
    p->receive((p->rank() + have) % n, work + begin(have), begin(have + more) - begin(have), round);
    p->send((p->rank() - have + n) % n, work, begin(more), round);
    p->then();
  }
  for (int i = 0; i < n; ++i) p->copy(out + block(i).offset, work + begin(i), block(i).size);
}

void allgatherv_by_ring(collective_schedule* p, const void* sendbuf, char* out,
                        const coll::block_layout& blocks, uint32_t round) {
  const int n = p->size();
  const auto block = [&](int rank) { return blocks.of((rank + n) % n); };
  const coll::block_layout::block own = block(p->rank());
  if (out + own.offset != sendbuf) p->copy(out + own.offset, sendbuf, own.size);
  p->then();
  for (int i = 1; i < n; ++i) {
    ++round;
    const coll::block_layout::block in = block(p->rank() - i);
    const coll::block_layout::block next = block(p->rank() - i + 1);
    p->receive((p->rank() - 1 + n) % n, out + in.offset, in.size, round);
    p->send((p->rank() + 1) % n, out + next.offset, next.size, round);
    p->then();
  }
}

namespace {

// A layout may have null as its buffer if all of its blocks are empty.
void check_blocks(const void* buffer, const coll::block_layout& blocks, const char* what,
                  const char* name) {
  for (const coll::block_layout::block& each : blocks.blocks) {
    check_buffer(buffer, each.size, what, name);
  }
}

}  // namespace
}  // namespace rt

void allgatherv_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::allgatherv);
  const std::vector<size_t> sizes = rt::sizes_of(get_recvsizes(), 1, call, "recvsizes");
  rt::refuse_both(call, get_recvlayouts(), "recvlayouts", get_recvoffsets(), "recvoffsets");
  const coll::block_layout blocks = rt::layout_of(sizes, get_recvoffsets(), call.name());
  const size_t all = rt::sum_of(sizes, call.name());
  rt::check_buffer(get_sendbuf(), blocks.of(call.rank()).size, call.name(), "sendbuf");
  rt::check_blocks(get_recvbuf(), blocks, call.name(), "recvbuf");
  const void* const sendbuf = rt::send_buffer(&call, get_sendbuf(), get_sendlayout(),
                                              blocks.of(call.rank()).size, "sendlayout");
  void* const recvbuf =
      rt::receive_buffer(&call, get_recvbuf(), get_recvlayouts(), sizes, "recvlayouts");
  call.begin({{}, -1, all, 0, coll::hash_of(sizes.data(), sizes.size())});
  const size_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (all > 0 && call.is_shared(largest, call.sizes().copied_in_area, /*fits_pieces=*/true)) {
    return call.run<coll::allgatherv>(sendbuf, recvbuf, blocks);
  }
  if (rt::allgather_by_hosts(&call, sendbuf, recvbuf, blocks)) return;
  const bool small = all < rt::ring_threshold;
  rt::collective_schedule p(call, small ? all : 0);
  if (all > 0) {
    char* const out = static_cast<char*>(recvbuf);
    if (small) {
      rt::allgatherv_by_doubling(&p, sendbuf, out, blocks);
    } else {
      rt::allgatherv_by_ring(&p, sendbuf, out, blocks, 0);
    }
  }
  p.run();
}

// Everybody to everybody, beginning with the neighbor, so that not all send to rank 0 first.
void alltoallv_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::alltoallv);
  rt::refuse_both(call, get_sendlayouts(), "sendlayouts", get_sendoffsets(), "sendoffsets");
  rt::refuse_both(call, get_recvlayouts(), "recvlayouts", get_recvoffsets(), "recvoffsets");
  const std::vector<size_t> sent_sizes = rt::sizes_of(get_sendsizes(), 1, call, "sendsizes");
  const std::vector<size_t> received_sizes = rt::sizes_of(get_recvsizes(), 1, call, "recvsizes");
  const coll::block_layout sent = rt::layout_of(sent_sizes, get_sendoffsets(), call.name());
  const coll::block_layout received = rt::layout_of(received_sizes, get_recvoffsets(), call.name());
  rt::check_blocks(get_sendbuf(), sent, call.name(), "sendbuf");
  rt::check_blocks(get_recvbuf(), received, call.name(), "recvbuf");
  const coll::block_layout::block own = sent.of(call.rank());
  const coll::block_layout::block target = received.of(call.rank());
  if (own.size != target.size) {
    throw std::invalid_argument(base::StrCat("lci: alltoallv: this rank sends ", own.size,
                                             " bytes to itself, and receives ", target.size));
  }
  const void* const sendbuf =
      rt::send_buffer(&call, get_sendbuf(), get_sendlayouts(), sent_sizes, "sendlayouts");
  void* const recvbuf =
      rt::receive_buffer(&call, get_recvbuf(), get_recvlayouts(), received_sizes, "recvlayouts");
  call.begin({});
  // Each rank knows only its own sizes: so the ranks cannot know whether all blocks fit in areas.
  const size_t any_size = call.sizes().copied_in_area + 1;
  if (call.size() <= coll::alltoallv::most_ranks &&
      call.is_shared(any_size, call.sizes().copied_in_area)) {
    return call.run<coll::alltoallv>(sendbuf, sent, recvbuf, received);
  }
  rt::collective_schedule p(call);
  const char* const out = static_cast<const char*>(sendbuf);
  char* const in = static_cast<char*>(recvbuf);
  p.copy(in + target.offset, out + own.offset, own.size);
  for (int i = 1; i < p.size(); ++i) {
    const int from = (p.rank() + p.size() - i) % p.size();
    const int to = (p.rank() + i) % p.size();
    p.receive(from, in + received.of(from).offset, received.of(from).size, 0);
    p.send(to, out + sent.of(to).offset, sent.of(to).size, 0);
  }
  p.run();
}

}  // namespace lci
