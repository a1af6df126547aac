// The ranks of a runtime, or of a group, by host, for collective operations in which the ranks of
// each host meet in their shared memory and one rank of each host exchanges messages with the
// others.
#ifndef LCI_RUNTIME_INSTANCE_HIERARCHY_H_
#define LCI_RUNTIME_INSTANCE_HIERARCHY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lci/boot/bootstrap.h"
#include "lci/coll/arena.h"
#include "lci/net/backend.h"
#include "lci/runtime/instance/shared_memory.h"

namespace lci {

class group_impl_t;
class runtime_impl_t;

namespace rt {

// Places are the numbers of ranks among those of the set, hosts are counted in the order of their
// first place, and a rank's index is its number among the places of its host, which are in
// ascending order. All ranks of the set have the same hosts.
//
// Every call of a collective operation takes `phases` numbers of the arena of the host, those of
// operations that go by messages too: call n has the numbers from phases * (n - 1) + 1 to
// phases * n. So ranks of a host that call different operations find out, whichever way these take.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class hierarchy {
 public:
  // Operations of the host's arena that one call takes at most.
  static constexpr uint64_t phases = 2;

  // The message of a rank about its host, before there is a hierarchy.
  struct report {
    int32_t host;    // a number that only the ranks of this host report
    uint32_t state;  // a coll::arena::join_state: what this rank can do in the memory of its host
  };

  // Of all ranks. Collective. Null on all ranks if no ranks of different hosts share memory with
  // others of their host, or if some rank cannot map its host's memory. Throws std::runtime_error.
  // Makes no progress.
  static std::unique_ptr<hierarchy> make(runtime_impl_t& runtime, boot::bootstrap& boot,
                                         net::context& network);

  // `memory`: of this rank's host. `reports`: of all ranks of the set, by place, the same on all
  // ranks.
  hierarchy(std::shared_ptr<shared_memory> memory, const std::vector<report>& reports, int place);
  // Whether a hierarchy can be made of these: the ranks are on several hosts, some host has several
  // ranks, and all ranks can use the memory of their host.
  static bool is_possible(const std::vector<report>& reports);

  int hosts() const { return static_cast<int>(places_.size()); }
  int own_host() const { return own_host_; }
  int index() const { return index_; }
  // The places on that host.
  const std::vector<int>& places_on(int host) const { return places_[static_cast<size_t>(host)]; }
  int ranks_on(int host) const { return static_cast<int>(places_on(host).size()); }
  int host_of(int place) const { return host_of_[static_cast<size_t>(place)]; }
  int index_of(int place) const { return index_of_[static_cast<size_t>(place)]; }
  // The ranks of the host with the fewest.
  int least_ranks() const { return least_ranks_; }
  // The ranks of the host with the most.
  int most_ranks() const { return most_ranks_; }
  // Whether the places of each host follow each other, so that the order of hosts is that of
  // places.
  bool is_in_order() const { return is_in_order_; }
  // The access that all ranks have to the memory of their host: `mapped` or `readable`.
  coll::arena::join_state joined() const { return joined_; }
  shared_memory& memory() const { return *memory_; }
  // For operations that may end after the hierarchy.
  std::weak_ptr<shared_memory> weak_memory() const { return memory_; }

 private:
  const std::shared_ptr<shared_memory> memory_;  // no other owner outlives a call
  std::vector<std::vector<int>> places_;         // by host
  std::vector<int> host_of_;                     // by place
  std::vector<int> index_of_;                    // by place
  int own_host_ = 0;
  int index_ = 0;
  int least_ranks_ = 0;
  int most_ranks_ = 0;
  bool is_in_order_ = true;
  coll::arena::join_state joined_;
};

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_INSTANCE_HIERARCHY_H_
