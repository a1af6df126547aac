// Operations by hosts that combine the items of the ranks, in the order of ranks.
#include <algorithm>
#include <vector>

#include "lci/coll/rooted.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/hierarchy.h"
#include "lci/runtime/collective/host_schedule.h"

namespace lci::rt {
namespace {

// An allreduce of ranks that are not in the order of hosts gathers the items of all ranks, up to
// this many bytes of all, on each of them.
constexpr size_t most_gathered = size_t{8} << 10;

// Operations that combine in the area and give the result on by a broadcast need it to fit for
// both.
size_t most_in_areas(const collective_call& call) {
  return std::min(call.sizes().combined_in_area, call.sizes().copied_in_area);
}

// Smaller scans go by messages: their ranks wait only for those before them, so that many calls are
// under way at a time, and the ranks of a later host would wait for their leader in each.
constexpr size_t least_scanned = size_t{32} << 10;

// From so many bytes on, coll_host_leaders ranks of a host are leaders.
constexpr size_t least_for_leaders = size_t{64} << 10;

// *target = operands[0] op operands[1] op ..., `count` items of `item_size` bytes each. Overwrites
// the last operand, and `target` only at the end.
void combine(collective_schedule* p, const std::vector<char*>& operands, reduce_op_t op,
             size_t count, size_t item_size, char* target) {
  char* const right = operands.back();
  for (size_t i = operands.size() - 1; i-- > 0;) {
    p->reduce(op, operands[i], right, right, count);
    p->then();
  }
  if (right != target) p->copy(target, right, count * item_size);
}

// Every rank gets the items of all ranks, and combines them in their order.
bool allreduce_by_gathering(collective_call* call, const coll::reduction& what,
                            const hierarchy& hosts) {
  const auto n = static_cast<size_t>(call->size());
  if (what.size * n > most_gathered) return false;
  coll::block_layout blocks;  // in the order of hosts
  blocks.blocks.resize(n);
  coll::block_layout per_host;
  size_t at = 0;
  for (int h = 0; h < hosts.hosts(); ++h) {
    per_host.blocks.push_back({at, static_cast<size_t>(hosts.ranks_on(h)) * what.size});
    for (const int place : hosts.places_on(h)) {
      blocks.blocks[static_cast<size_t>(place)] = {at, what.size};
      at += what.size;
    }
  }
  host_schedule p(call, hosts, 2, 2 * at, host_schedule::first_or_root(hosts));
  char* const work = p.steps.room() + at;
  char* const here = work + per_host.of(hosts.own_host()).offset;
  p.steps.meet<coll::gather>(host_schedule::up, what.sendbuf, here, what.size, p.leader_index());
  if (p.is_leader()) {
    p.among_leaders([&](collective_schedule* leaders) {
      allgatherv_by_doubling(leaders, here, work, per_host);
    });
  }
  p.steps.then();
  p.steps.meet<coll::broadcast>(host_schedule::down, work, at, p.leader_index());
  p.steps.then();
  std::vector<char*> operands;
  for (const auto& each : blocks.blocks) operands.push_back(work + each.offset);
  combine(&p.steps, operands, what.op, what.size / what.item_size, what.item_size,
          static_cast<char*>(what.recvbuf));
  p.steps.run();
  return true;
}

// Several leaders: each combines a part of the items of its host, exchanges that with the leaders
// of the other hosts that have the same index, and gives it to its host.
bool allreduce_by_leaders(collective_call* call, const coll::reduction& what,
                          const hierarchy& hosts, int count) {
  auto* const out = static_cast<char*>(what.recvbuf);
  coll::block_layout parts;  // of the ranks of this host
  for (int i = 0; i < hosts.ranks_on(hosts.own_host()); ++i) {
    const piece part = i < count ? piece_of(what.size / what.item_size, what.item_size, count, i)
                                 : piece{0, 0, what.item_size};
    parts.blocks.push_back({part.begin, part.bytes()});
  }
  const int index = hosts.index();
  const bool leads = index < count;
  std::vector<int> leaders;  // with this index
  for (int h = 0; leads && h < hosts.hosts(); ++h) {
    leaders.push_back(hosts.places_on(h)[static_cast<size_t>(index)]);
  }
  if (!leads) leaders = host_schedule::first_or_root(hosts);
  const coll::block_layout::block own = parts.of(index);
  const coll::reduction part{nullptr, nullptr, own.size, what.item_size, what.op};
  host_schedule p(call, hosts, 2, leads ? spare_of_allreduce(part, hosts.hosts()) : 0, leaders);
  p.steps.meet<coll::reduce_scatterv>(
      host_schedule::up,
      coll::reduction{what.sendbuf, out + own.offset, own.size, what.item_size, what.op}, parts);
  if (leads) {
    p.among_leaders([&](collective_schedule* others) {
      allreduce_by_messages(others, out + own.offset, p.steps.room(), part);
    });
  }
  p.steps.then();
  p.steps.meet<coll::allgatherv>(host_schedule::down, out + own.offset, out, parts);
  p.steps.run();
  return true;
}

}  // namespace

bool reduce_by_hosts(collective_call* call, const coll::reduction& what, int root) {
  const hierarchy* const hosts = call->by_hosts(what.size, call->sizes().combined_in_area);
  if (hosts == nullptr || what.size == 0 || !hosts->is_in_order()) return false;
  const bool is_root = call->rank() == root;
  const auto n = static_cast<size_t>(hosts->hosts());
  // Of the root: the items of each host.
  const size_t slots = is_root ? n : 1;
  host_schedule p(call, *hosts, 1, bytes_of(slots, what.size, call->name()),
                  host_schedule::first_or_root(*hosts, root));
  const auto slot = [&](int host) {
    return p.steps.room() + (is_root ? static_cast<size_t>(host) * what.size : 0);
  };
  char* const own = slot(hosts->own_host());
  p.steps.meet<coll::reduce>(
      0, coll::reduction{what.sendbuf, own, what.size, what.item_size, what.op}, p.leader_index());
  if (p.is_leader()) {
    if (is_root) {
      // At once: the items of this host arrive meanwhile.
      std::vector<char*> operands;
      for (int h = 0; h < hosts->hosts(); ++h) {
        operands.push_back(slot(h));
        if (h == hosts->own_host()) continue;
        p.steps.receive(hosts->places_on(h).front(), slot(h), what.size, 0);
      }
      p.steps.then();
      combine(&p.steps, operands, what.op, what.size / what.item_size, what.item_size,
              static_cast<char*>(what.recvbuf));
    } else {
      p.steps.then();
      p.steps.send(root, own, what.size, 0);
    }
  }
  p.steps.run();
  return true;
}

bool allreduce_by_hosts(collective_call* call, const coll::reduction& what, bool fixed_order) {
  const hierarchy* const hosts = call->by_hosts(what.size, most_in_areas(*call));
  if (hosts == nullptr || what.size == 0) return false;
  if (fixed_order || !hosts->is_in_order()) return allreduce_by_gathering(call, what, *hosts);
  const int count = std::min(call->runtime().attr().coll_host_leaders, hosts->least_ranks());
  if (count > 1 && what.size >= least_for_leaders) {
    return allreduce_by_leaders(call, what, *hosts, count);
  }
  const bool leads = hosts->index() == 0;
  host_schedule p(call, *hosts, 2, leads ? spare_of_allreduce(what, hosts->hosts()) : 0,
                  host_schedule::first_or_root(*hosts));
  p.steps.meet<coll::reduce>(host_schedule::up, what, p.leader_index());
  if (leads) {
    p.among_leaders([&](collective_schedule* leaders) {
      allreduce_by_messages(leaders, static_cast<char*>(what.recvbuf), p.steps.room(), what);
    });
  }
  p.steps.then();
  p.steps.meet<coll::broadcast>(host_schedule::down, what.recvbuf, what.size, p.leader_index());
  p.steps.run();
  return true;
}

bool reduce_scatter_by_hosts(collective_call* call, const coll::reduction& what,
                             const coll::block_layout& blocks) {
  size_t all = 0;
  for (const coll::block_layout::block& each : blocks.blocks) all += each.size;
  const hierarchy* const hosts = call->by_hosts(all, most_in_areas(*call));
  if (hosts == nullptr || all == 0 || !hosts->is_in_order()) return false;
  const coll::block_layout per_host = blocks_of_hosts(*hosts, blocks);
  const coll::block_layout::block own = per_host.of(hosts->own_host());
  const bool leads = hosts->index() == 0;
  const auto others = static_cast<size_t>(hosts->hosts()) - 1;
  // The result of the host, and of the leader the items of all blocks of its host, and those of the
  // own blocks of the other hosts.
  host_schedule p(call, *hosts, 2, own.size + (leads ? all + others * own.size : 0),
                  host_schedule::first_or_root(*hosts));
  char* const result = p.steps.room();
  char* const sums = result + own.size;
  p.steps.meet<coll::reduce>(host_schedule::up,
                             coll::reduction{what.sendbuf, sums, all, what.item_size, what.op},
                             p.leader_index());
  if (leads) {
    p.among_leaders([&](collective_schedule* leaders) {
      reduce_directly(leaders, {sums, result, own.size, what.item_size, what.op}, per_host,
                      sums + all);
    });
  }
  p.steps.then();
  // Every rank copies the blocks of all ranks of its host, and takes its own block out of the copy.
  p.steps.meet<coll::broadcast>(host_schedule::down, result, own.size, p.leader_index());
  p.steps.then();
  p.steps.copy(what.recvbuf, result + blocks.of(call->rank()).offset - own.offset, what.size);
  p.steps.run();
  return true;
}

bool scan_by_hosts(collective_call* call, const coll::reduction& what, coll::scan_kind kind) {
  const hierarchy* const hosts = call->by_hosts(what.size, most_in_areas(*call));
  if (hosts == nullptr || what.size < least_scanned || !hosts->is_in_order()) return false;
  const bool is_first_host = hosts->own_host() == 0;
  const bool is_inclusive = kind == coll::scan_kind::inclusive;
  const int index = hosts->index();
  const size_t count = what.size / what.item_size;
  // The last rank of each host, which has the items of all of them combined.
  std::vector<int> last;
  for (int h = 0; h < hosts->hosts(); ++h) last.push_back(hosts->places_on(h).back());
  const bool leads = index + 1 == hosts->ranks_on(hosts->own_host());
  host_schedule p(call, *hosts, is_first_host ? 1 : 2,
                  bytes_of(leads ? 6 : 2, what.size, call->name()), last);
  char* const here = p.steps.room();      // the items of this host's ranks up to this one
  char* const before = here + what.size;  // those of the hosts before this one
  p.steps.meet<coll::scan>(host_schedule::up,
                           coll::reduction{what.sendbuf, here, what.size, what.item_size, what.op},
                           kind);
  p.steps.then();
  if (leads) {
    char* total = here;
    if (!is_inclusive) {
      total = before + what.size;
      p.steps.copy(total, what.sendbuf, what.size);
      p.steps.then();
      if (index > 0) p.steps.reduce(what.op, here, total, total, count);
    }
    p.among_leaders([&](collective_schedule* leaders) {
      scan_by_doubling(leaders, {total, before, what.size, what.item_size, what.op},
                       coll::scan_kind::exclusive, before + 2 * what.size);
    });
  }
  p.steps.then();
  const bool has_here = is_inclusive || index > 0;
  if (is_first_host) {
    if (has_here) p.steps.copy(what.recvbuf, here, what.size);
    p.steps.run();
    return true;
  }
  p.steps.meet<coll::broadcast>(host_schedule::down, before, what.size, p.leader_index());
  p.steps.then();
  if (has_here) {
    p.steps.reduce(what.op, before, here, what.recvbuf, count);
  } else {
    p.steps.copy(what.recvbuf, before, what.size);
  }
  p.steps.run();
  return true;
}

}  // namespace lci::rt
