// Gather and scatter.
#include "lci/coll/rooted.h"

#include <algorithm>

#include "lci/api/coll.hpp"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/layouts.h"
#include "lci/runtime/collective/schedule.h"

namespace lci {
namespace rt {
namespace {

// Blocks up to this size travel along a tree: they are forwarded, but the root sends or receives
// log2(ranks) messages instead of as many as there are ranks.
constexpr size_t most_in_tree = 2048;

// A binomial tree over the ranks from the root on: the rank at `place` has those of
// [place, place + width) below it, and its parent is at place - width, where width is the lowest
// bit of place. (The root has all.)
struct subtree {
  int place;
  int width;  // at least 1
  int ranks;  // of these, those that exist
};
subtree subtree_of(const collective_schedule& p, int root) {
  const int n = p.size();
  const int place = (p.rank() - root + n) % n;
  int width = 1;
  while (width < n && (place & width) == 0) width *= 2;
  return {place, width, std::min(width, n - place)};
}

// The room of the root holds the blocks from its own rank on. Copies them to or from the program's
// buffer, where rank 0 comes first.
template <class Copy>
void for_both_parts(const collective_schedule& p, int root, size_t size, const Copy& copy) {
  const auto from_root = static_cast<size_t>(p.size() - root) * size;
  const size_t below = static_cast<size_t>(root) * size;
  copy(below, size_t{0}, from_root);  // byte of the buffer, byte of the room, bytes
  copy(size_t{0}, from_root, below);
}

void gather_by_tree(collective_schedule* p, const void* sendbuf, void* recvbuf, size_t size,
                    int root) {
  const subtree own = subtree_of(*p, root);
  const int n = p->size();
  char* const work = p->room();
  p->copy(work, sendbuf, size);
  for (int distance = 1; distance < own.ranks; distance *= 2) {
    const int ranks = std::min(distance, n - own.place - distance);
    p->receive((p->rank() + distance) % n, work + static_cast<size_t>(distance) * size,
               static_cast<size_t>(ranks) * size, 0);
  }
  p->then();
  if (own.place > 0) {
    p->send((p->rank() - own.width + n) % n, work, static_cast<size_t>(own.ranks) * size, 0);
    return;
  }
  for_both_parts(*p, root, size, [&](size_t at, size_t in_room, size_t bytes) {
    p->copy(static_cast<char*>(recvbuf) + at, work + in_room, bytes);
  });
}

void gather_directly(collective_schedule* p, const void* sendbuf, void* recvbuf, size_t size,
                     int root) {
  if (p->rank() != root) {
    p->send(root, sendbuf, size, 0);
    return;
  }
  const auto block = [&](int rank) {
    return static_cast<char*>(recvbuf) + static_cast<size_t>(rank) * size;
  };
  if (block(root) != sendbuf) p->copy(block(root), sendbuf, size);
  for (int i = 1; i < p->size(); ++i) {
    const int from = (root + i) % p->size();
    p->receive(from, block(from), size, 0);
  }
}

void scatter_by_tree(collective_schedule* p, const void* sendbuf, void* recvbuf, size_t size,
                     int root) {
  const subtree own = subtree_of(*p, root);
  const int n = p->size();
  char* const work = p->room();
  if (own.place > 0) {
    p->receive((p->rank() - own.width + n) % n, work, static_cast<size_t>(own.ranks) * size, 0);
  } else {
    for_both_parts(*p, root, size, [&](size_t at, size_t in_room, size_t bytes) {
      p->copy(work + in_room, static_cast<const char*>(sendbuf) + at, bytes);
    });
  }
  p->then();
  int distance = 1;
  while (2 * distance < own.ranks) distance *= 2;
  for (; distance > 0 && own.ranks > 1; distance /= 2) {
    const int ranks = std::min(distance, n - own.place - distance);
    p->send((p->rank() + distance) % n, work + static_cast<size_t>(distance) * size,
            static_cast<size_t>(ranks) * size, 0);
  }
  p->copy(recvbuf, work, size);
}

void scatter_directly(collective_schedule* p, const void* sendbuf, void* recvbuf, size_t size,
                      int root) {
  if (p->rank() != root) {
    p->receive(root, recvbuf, size, 0);
    return;
  }
  const auto block = [&](int rank) {
    return static_cast<const char*>(sendbuf) + static_cast<size_t>(rank) * size;
  };
  if (block(root) != recvbuf) p->copy(recvbuf, block(root), size);
  for (int i = 1; i < p->size(); ++i) {
    const int to = (root + i) % p->size();
    p->send(to, block(to), size, 0);
  }
}

}  // namespace
}  // namespace rt

void gather_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::gather);
  rt::check_root(get_root(), call.size(), call.name());
  const size_t all = rt::bytes_of(static_cast<size_t>(call.size()), get_size(), call.name());
  rt::check_buffer(get_sendbuf(), get_size(), call.name(), "sendbuf");
  if (call.rank() == get_root()) rt::check_buffer(get_recvbuf(), all, call.name(), "recvbuf");
  const void* const sendbuf =
      rt::send_buffer(&call, get_sendbuf(), get_sendlayout(), get_size(), "sendlayout");
  void* recvbuf = get_recvbuf();
  if (call.rank() == get_root()) {
    const auto sizes = rt::equal_sizes(call, get_recvlayouts(), get_size());
    recvbuf = rt::receive_buffer(&call, recvbuf, get_recvlayouts(), sizes, "recvlayouts");
  }
  call.begin({{}, get_root(), get_size()});
  if (get_size() > 0 &&
      call.is_shared(get_size(), call.sizes().copied_in_area, coll::fits_pieces(1))) {
    return call.run<coll::gather>(sendbuf, recvbuf, get_size(), get_root());
  }
  if (rt::gather_by_hosts(&call, sendbuf, recvbuf, get_size(), get_root())) return;
  const bool by_tree = get_size() <= rt::most_in_tree;
  rt::collective_schedule p(call, by_tree ? all : 0);
  if (get_size() > 0) {
    (by_tree ? rt::gather_by_tree : rt::gather_directly)(&p, sendbuf, recvbuf, get_size(),
                                                         get_root());
  }
  p.run();
}

void scatter_x::operator()() const {
  rt::collective_call call(*this, coll::operation_kind::scatter);
  rt::check_root(get_root(), call.size(), call.name());
  const size_t all = rt::bytes_of(static_cast<size_t>(call.size()), get_size(), call.name());
  if (call.rank() == get_root()) rt::check_buffer(get_sendbuf(), all, call.name(), "sendbuf");
  rt::check_buffer(get_recvbuf(), get_size(), call.name(), "recvbuf");
  const void* sendbuf = get_sendbuf();
  if (call.rank() == get_root()) {
    const auto sizes = rt::equal_sizes(call, get_sendlayouts(), get_size());
    sendbuf = rt::send_buffer(&call, sendbuf, get_sendlayouts(), sizes, "sendlayouts");
  }
  void* const recvbuf =
      rt::receive_buffer(&call, get_recvbuf(), get_recvlayout(), get_size(), "recvlayout");
  call.begin({{}, get_root(), get_size()});
  if (get_size() > 0 &&
      call.is_shared(all, call.sizes().copied_in_area, coll::fits_pieces(1, call.size() - 1))) {
    return call.run<coll::scatter>(sendbuf, recvbuf, get_size(), get_root());
  }
  if (rt::scatter_by_hosts(&call, sendbuf, recvbuf, get_size(), get_root())) return;
  const bool by_tree = get_size() <= rt::most_in_tree;
  rt::collective_schedule p(call, by_tree ? all : 0);
  if (get_size() > 0) {
    (by_tree ? rt::scatter_by_tree : rt::scatter_directly)(&p, sendbuf, recvbuf, get_size(),
                                                           get_root());
  }
  p.run();
}

}  // namespace lci
