// Operations by hosts that combine nothing.
#include "lci/runtime/collective/hierarchy.h"

#include <algorithm>

#include "lci/coll/rooted.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/host_schedule.h"

namespace lci::rt {
namespace {

// Larger blocks of gather, scatter and alltoall go straight between the ranks: through the leaders
// they would be copied once more, or twice.
constexpr size_t most_through_leaders = size_t{2} << 10;

// An alltoall of more ranks on a host goes straight between the ranks: the leader copies the blocks
// of all of them.
constexpr int most_ranks_of_alltoall = 8;

// The blocks of each host's ranks, one host behind the other.
coll::block_layout by_host(const hierarchy& hosts, const coll::block_layout& blocks) {
  coll::block_layout made;
  made.blocks.resize(blocks.blocks.size());
  size_t at = 0;
  for (int h = 0; h < hosts.hosts(); ++h) {
    for (const int place : hosts.places_on(h)) {
      const size_t size = blocks.of(place).size;
      made.blocks[static_cast<size_t>(place)] = {at, size};
      at += size;
    }
  }
  return made;
}

coll::block_layout of_own_host(const hierarchy& hosts, const coll::block_layout& blocks) {
  coll::block_layout made;
  for (const int place : hosts.places_on(hosts.own_host())) {
    made.blocks.push_back(blocks.of(place));
  }
  return made;
}

bool are_equal(const coll::block_layout& left, const coll::block_layout& right) {
  return std::equal(left.blocks.begin(), left.blocks.end(), right.blocks.begin(),
                    right.blocks.end(), [](const auto& one, const auto& other) {
                      return one.offset == other.offset && one.size == other.size;
                    });
}

void copy_blocks(collective_schedule* p, char* to, const coll::block_layout& to_blocks,
                 const char* from, const coll::block_layout& from_blocks) {
  for (int place = 0; place < p->size(); ++place) {
    const coll::block_layout::block& each = to_blocks.of(place);
    p->copy(to + each.offset, from + from_blocks.of(place).offset, each.size);
  }
}

// Equal blocks of a gather or scatter, and the room for them in the schedule of this rank: the root
// has those of all hosts there, another leader those of its own.
struct rooted_blocks {
  rooted_blocks(const hierarchy& hosts, int ranks, size_t size, bool root)
      : asked(coll::equal_blocks(ranks, size)),
        packed(by_host(hosts, asked)),
        per_host(blocks_of_hosts(hosts, asked)),
        is_root(root),
        in_place(is_root && hosts.is_in_order()),
        room(in_place  ? 0
             : is_root ? static_cast<size_t>(ranks) * size
                       : per_host.of(hosts.own_host()).size) {}

  const coll::block_layout asked;     // as the program has them
  const coll::block_layout packed;    // one host behind the other
  const coll::block_layout per_host;  // all of a host
  const bool is_root;
  const bool in_place;  // they lie in the program's buffer as they travel
  const size_t room;
};

// The steps of a leader in an alltoall of blocks of `size` bytes, and its room.
class alltoall_of_leader {
 public:
  alltoall_of_leader(const hierarchy& hosts, int ranks, size_t size)
      : hosts_(hosts), ranks_(ranks), size_(size) {}

  // Bytes of room: the blocks of this host's ranks, as they send and as they receive them, and what
  // travels from and to the other hosts.
  size_t room() const { return 4 * here() * static_cast<size_t>(ranks_) * size_; }
  void add(host_schedule* p, char* room) {
    sent_ = room;
    received_ = sent_ + room_of_one();
    out_ = received_ + room_of_one();
    in_ = out_ + room_of_one();
    p->steps.then();
    for (int h = 0; h < hosts_.hosts(); ++h) add_packing(&p->steps, h);
    p->among_leaders([this](collective_schedule* leaders) { add_exchange(leaders); });
    p->steps.then();
    for (int h = 0; h < hosts_.hosts(); ++h) add_unpacking(&p->steps, h);
  }
  // What the ranks of this host receive, one rank behind the other; what they send stands at the
  // begin of the room in the same way.
  const char* received() const { return received_; }

 private:
  size_t here() const { return static_cast<size_t>(hosts_.ranks_on(hosts_.own_host())); }
  size_t room_of_one() const { return room() / 4; }
  // Of the blocks between this host and that one.
  size_t begin_of(int host) const {
    size_t before = 0;
    for (int h = 0; h < host; ++h) before += static_cast<size_t>(hosts_.ranks_on(h));
    return before * here() * size_;
  }
  size_t bytes_of(int host) const {
    return static_cast<size_t>(hosts_.ranks_on(host)) * here() * size_;
  }
  // Of a rank of this host, by index, and one of the call.
  char* block(char* blocks, size_t index, int place) const {
    return blocks + (index * static_cast<size_t>(ranks_) + static_cast<size_t>(place)) * size_;
  }

  // Blocks travel in the order of their senders, and of one sender in that of their receivers.
  void add_packing(collective_schedule* p, int host) const {
    char* to = out_ + begin_of(host);
    for (size_t i = 0; i < here(); ++i) {
      for (const int place : hosts_.places_on(host)) {
        p->copy(to, block(sent_, i, place), size_);
        to += size_;
      }
    }
  }
  void add_exchange(collective_schedule* leaders) const {
    for (int h = 0; h < hosts_.hosts(); ++h) {
      if (h == hosts_.own_host()) continue;
      leaders->receive(h, in_ + begin_of(h), bytes_of(h), 0);
      leaders->send(h, out_ + begin_of(h), bytes_of(h), 0);
    }
  }
  void add_unpacking(collective_schedule* p, int host) const {
    const char* from = (host == hosts_.own_host() ? out_ : in_) + begin_of(host);
    for (const int place : hosts_.places_on(host)) {
      for (size_t i = 0; i < here(); ++i) {
        p->copy(block(received_, i, place), from, size_);
        from += size_;
      }
    }
  }

  const hierarchy& hosts_;
  const int ranks_;
  const size_t size_;
  char* sent_ = nullptr;
  char* received_ = nullptr;
  char* out_ = nullptr;
  char* in_ = nullptr;
};

}  // namespace

bool barrier_by_hosts(collective_call* call) {
  const hierarchy* const hosts = call->by_hosts(0, 0);
  if (hosts == nullptr) return false;
  host_schedule p(call, *hosts, 2, 0, host_schedule::first_or_root(*hosts));
  const void* const nothing = nullptr;
  p.steps.meet<coll::gather>(host_schedule::up, nothing, nullptr, size_t{0}, p.leader_index());
  if (p.is_leader())
    p.among_leaders([](collective_schedule* leaders) { barrier_by_dissemination(leaders, 0); });
  p.steps.then();
  p.steps.meet<coll::broadcast>(host_schedule::down, nullptr, size_t{0}, p.leader_index());
  p.steps.run();
  return true;
}

bool broadcast_by_hosts(collective_call* call, void* buffer, size_t size, int root) {
  const hierarchy* const hosts = call->by_hosts(size, call->sizes().copied_in_area);
  // The ring of all ranks sends large data to each host once, too, and in pieces.
  if (hosts == nullptr || size == 0 || size >= ring_threshold) return false;
  host_schedule p(call, *hosts, 1, 0, host_schedule::first_or_root(*hosts, root));
  const int root_host = hosts->host_of(root);
  if (p.is_leader()) {
    p.among_leaders([&](collective_schedule* leaders) {
      broadcast_by_tree(leaders, buffer, size, root_host, 0);
    });
  }
  // While the leader sends the bytes to other hosts.
  p.steps.meet<coll::broadcast>(0, buffer, size, p.leader_index());
  p.steps.run();
  return true;
}

bool gather_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf, size_t size,
                     int root) {
  const hierarchy* const hosts = call->by_hosts(size, call->sizes().copied_in_area);
  if (hosts == nullptr || size == 0 || size > most_through_leaders) return false;
  const rooted_blocks blocks(*hosts, call->size(), size, call->rank() == root);
  const int own = hosts->own_host();
  host_schedule p(call, *hosts, 1, blocks.room, host_schedule::first_or_root(*hosts, root));
  char* const work = blocks.in_place ? static_cast<char*>(recvbuf) : p.steps.room();
  char* const here = blocks.is_root ? work + blocks.per_host.of(own).offset : work;
  p.steps.meet<coll::gather>(0, sendbuf, here, size, p.leader_index());
  if (!p.is_leader()) {
    p.steps.run();
    return true;
  }
  const int root_host = hosts->host_of(root);
  if (!blocks.is_root) {
    p.among_leaders([&](collective_schedule* leaders) {
      leaders->send(root_host, here, blocks.per_host.of(own).size, 0);
    });
  } else {
    // At once: the blocks of this host arrive meanwhile.
    for (int h = 0; h < hosts->hosts(); ++h) {
      if (h == own) continue;
      p.steps.receive(hosts->places_on(h).front(), work + blocks.per_host.of(h).offset,
                      blocks.per_host.of(h).size, 0);
    }
    p.steps.then();
    if (!blocks.in_place) {
      copy_blocks(&p.steps, static_cast<char*>(recvbuf), blocks.asked, work, blocks.packed);
    }
  }
  p.steps.run();
  return true;
}

bool scatter_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf, size_t size,
                      int root) {
  const hierarchy* const hosts =
      call->by_hosts(size * static_cast<size_t>(call->size()), call->sizes().copied_in_area);
  if (hosts == nullptr || size == 0 || size > most_through_leaders) return false;
  const rooted_blocks blocks(*hosts, call->size(), size, call->rank() == root);
  const int own = hosts->own_host();
  host_schedule p(call, *hosts, 1, blocks.room, host_schedule::first_or_root(*hosts, root));
  const char* here = p.steps.room();
  if (blocks.is_root) {
    const char* work = static_cast<const char*>(sendbuf);
    if (!blocks.in_place) {
      copy_blocks(&p.steps, p.steps.room(), blocks.packed, work, blocks.asked);
      work = p.steps.room();
      p.steps.then();
    }
    for (int h = 0; h < hosts->hosts(); ++h) {
      if (h == own) continue;
      p.steps.send(hosts->places_on(h).front(), work + blocks.per_host.of(h).offset,
                   blocks.per_host.of(h).size, 0);
    }
    here = work + blocks.per_host.of(own).offset;
  } else if (p.is_leader()) {
    p.steps.receive(root, p.steps.room(), blocks.per_host.of(own).size, 0);
    p.steps.then();
  }
  p.steps.meet<coll::scatter>(0, here, recvbuf, size, p.leader_index());
  p.steps.run();
  return true;
}

bool allgather_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf,
                        const coll::block_layout& blocks) {
  size_t all = 0;
  for (const coll::block_layout::block& each : blocks.blocks) all += each.size;
  const hierarchy* const hosts = call->by_hosts(all, call->sizes().copied_in_area);
  if (hosts == nullptr || all == 0) return false;
  const coll::block_layout packed = by_host(*hosts, blocks);
  const coll::block_layout per_host = blocks_of_hosts(*hosts, blocks);
  const coll::block_layout::block own = per_host.of(hosts->own_host());
  const bool in_place = are_equal(packed, blocks);
  const bool small = all < ring_threshold;
  // Of the leaders' exchange, and then of the blocks in the order of hosts.
  const size_t exchanged = small && hosts->index() == 0 ? all : 0;
  host_schedule p(call, *hosts, 2, exchanged + (in_place ? 0 : all),
                  host_schedule::first_or_root(*hosts));
  char* const work = in_place ? static_cast<char*>(recvbuf) : p.steps.room() + exchanged;
  const coll::block_layout here = of_own_host(*hosts, packed);
  const bool all_equal =
      std::all_of(blocks.blocks.begin(), blocks.blocks.end(),
                  [&blocks](const auto& each) { return each.size == blocks.blocks.front().size; });
  if (all_equal) {
    p.steps.meet<coll::gather>(host_schedule::up, sendbuf, work + own.offset,
                               here.blocks.front().size, p.leader_index());
  } else {
    p.steps.meet<coll::allgatherv>(host_schedule::up, sendbuf, work, here);
  }
  if (p.is_leader()) {
    p.among_leaders([&](collective_schedule* leaders) {
      if (small) {
        allgatherv_by_doubling(leaders, work + own.offset, work, per_host);
      } else {
        allgatherv_by_ring(leaders, work + own.offset, work, per_host, 0);
      }
    });
  }
  p.steps.then();
  p.steps.meet<coll::broadcast>(host_schedule::down, work, all, p.leader_index());
  p.steps.then();
  if (!in_place) copy_blocks(&p.steps, static_cast<char*>(recvbuf), blocks, work, packed);
  p.steps.run();
  return true;
}

bool alltoall_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf, size_t size) {
  const size_t all = size * static_cast<size_t>(call->size());
  const hierarchy* hosts = call->by_hosts(all, call->sizes().copied_in_area);
  if (hosts == nullptr || size == 0 || size > most_through_leaders ||
      hosts->most_ranks() > most_ranks_of_alltoall) {
    return false;
  }
  // A leader offers to its host all that the ranks there receive.
  hosts =
      call->by_hosts(all * static_cast<size_t>(hosts->most_ranks()), call->sizes().copied_in_area);
  if (hosts == nullptr) return false;
  const bool leads = hosts->index() == 0;
  alltoall_of_leader leader(*hosts, call->size(), size);
  host_schedule p(call, *hosts, 2, leads ? leader.room() : 0, host_schedule::first_or_root(*hosts));
  p.steps.meet<coll::gather>(host_schedule::up, sendbuf, p.steps.room(), all, p.leader_index());
  if (leads) leader.add(&p, p.steps.room());
  p.steps.then();
  p.steps.meet<coll::scatter>(host_schedule::down, leader.received(), recvbuf, all,
                              p.leader_index());
  p.steps.run();
  return true;
}

}  // namespace lci::rt
