// The frame of a schedule with steps in the memory of a host.
#ifndef LCI_RUNTIME_COLLECTIVE_HOST_SCHEDULE_H_
#define LCI_RUNTIME_COLLECTIVE_HOST_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lci/runtime/collective/call.h"
#include "lci/runtime/collective/schedule.h"
#include "lci/runtime/instance/hierarchy.h"

namespace lci::rt {

// A schedule, and the leaders of the hosts. Each host has one: the rank with a certain index among
// its ranks, or a root where it is on that host.
//
// Thread safety: as of a schedule.
class host_schedule {
 public:
  // Phases of `steps` in the memory of the host: towards the leader, and from it.
  static constexpr uint64_t up = 0;
  static constexpr uint64_t down = 1;

  // `phases`: how many the operation has on this host. `room`: as of a schedule. `leaders`: the
  // place of each host's leader.
  host_schedule(collective_call* call, const hierarchy& hosts, uint64_t phases, size_t room,
                std::vector<int> leaders)
      : hosts_(hosts),
        leaders_(std::move(leaders)),
        steps(with_phases(call, phases), room),
        own_leader_(leaders_[static_cast<size_t>(hosts.own_host())]),
        is_leader_(own_leader_ == call->rank()) {}
  host_schedule(const host_schedule&) = delete;
  host_schedule& operator=(const host_schedule&) = delete;

  // The first rank of each host, or the root of the operation on its host.
  static std::vector<int> first_or_root(const hierarchy& hosts, int root = -1) {
    std::vector<int> leaders;
    for (int h = 0; h < hosts.hosts(); ++h) leaders.push_back(hosts.places_on(h).front());
    if (root >= 0) leaders[static_cast<size_t>(hosts.host_of(root))] = root;
    return leaders;
  }

  bool is_leader() const { return is_leader_; }
  // The index of this host's leader.
  int leader_index() const { return hosts_.index_of(own_leader_); }

  // Steps that add() adds come after all earlier ones, and number the leaders alone, by their
  // hosts.
  template <class Add>
  void among_leaders(const Add& add) {
    steps.then();
    steps.set_among(&leaders_, hosts_.own_host());
    add(&steps);
    steps.set_among(nullptr, 0);
  }

 private:
  static const collective_call& with_phases(collective_call* call, uint64_t phases) {
    call->use_hosts(phases);
    return *call;
  }
  const hierarchy& hosts_;
  const std::vector<int> leaders_;

 public:
  collective_schedule steps;

 private:
  const int own_leader_;
  const bool is_leader_;
};

// The bytes of the blocks of each host, one host behind the other.
inline coll::block_layout blocks_of_hosts(const hierarchy& hosts,
                                          const coll::block_layout& blocks) {
  coll::block_layout made;
  size_t at = 0;
  for (int h = 0; h < hosts.hosts(); ++h) {
    size_t size = 0;
    for (const int place : hosts.places_on(h)) size += blocks.of(place).size;
    made.blocks.push_back({at, size});
    at += size;
  }
  return made;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_HOST_SCHEDULE_H_
