// The object behind a group_t (api/group.hpp).
#ifndef LCI_RUNTIME_INSTANCE_GROUP_H_
#define LCI_RUNTIME_INSTANCE_GROUP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/net/backend.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/core/rank_group.h"
#include "lci/runtime/instance/hierarchy.h"
#include "lci/runtime/instance/shared_memory.h"
#include "lci/runtime/matching/engine.h"

namespace lci {

class runtime_impl_t;

// Messages of a group go to a matching engine that each of its ranks has made for it. The ranks
// number their engines independently of each other, so each keeps the numbers of the others.
// The ranks agree only on the members of the group.
//
// Thread safety: after join(), every member by any thread at any time, destruction excepted.
class group_impl_t : public rt::live_object {
 public:
  // How a rank introduces itself to the others of its group.
  struct introduction {
    uint32_t engine;
    uint32_t has_block;  // 1: `block` names memory for an arena
    net::remote_region block;
  };

  // Makes what the other ranks need. Throws std::runtime_error.
  group_impl_t(runtime_impl_t& runtime, const group_attr_t& attributes);
  // Local.
  ~group_impl_t();

  const introduction& own() const { return own_; }
  // `ranks`: of the runtime, in the order of the group; this rank is one of them. `introductions`:
  // theirs. When all ranks of the group have called it, they can use the group.
  void join(std::vector<int> ranks, const std::vector<introduction>& introductions);
  // After that: the report of this rank about its host.
  rt::hierarchy::report report() const;
  // Once all ranks have reported: `reports` are theirs, by place.
  void find_shared_memory(const std::vector<rt::hierarchy::report>& reports);
  // The thread team that the group has been made for, and that lives as long as the group.
  void attach(std::shared_ptr<void> team) { team_ = std::move(team); }
  bool is_of_thread_team() const { return team_ != nullptr; }
  // No other rank uses the group any more.
  void leave() { is_used_by_others_ = false; }

  int place() const { return place_; }  // of this rank
  int size() const { return members_.size(); }
  int rank_at(int place) const { return members_.rank_at(place); }
  int place_of(int rank) const { return members_.place_of(rank); }
  // How that rank of the group names its engine.
  uint16_t engine_of(int place) const { return engines_[static_cast<size_t>(place)]; }
  rt::matching_engine& engine() const { return *engine_; }
  // Null if the operations are made of messages only.
  rt::shared_memory* shared_memory() const { return shared_memory_.get(); }
  // Null if the ranks are all on one host or each on a host of its own, or share no memory.
  const rt::hierarchy* hierarchy() const { return hierarchy_.get(); }
  // That of the group, or of the ranks of this host; null: neither is used.
  rt::shared_memory* memory_in_use() const {
    return hierarchy_ != nullptr ? &hierarchy_->memory() : shared_memory_.get();
  }

  const rt::rank_group& members() const { return members_; }
  int first_failed() const { return members_.first_failed(); }
  // An operation has not ended on this rank.
  bool is_in_use() const;
  void count_persistent_colls(int more) {
    persistent_colls_.fetch_add(more, std::memory_order_acq_rel);
  }
  int persistent_colls() const { return persistent_colls_.load(std::memory_order_acquire); }

  runtime_impl_t& runtime;
  group_attr_t attr;

 private:
  rt::rank_group members_;
  std::vector<uint16_t> engines_;  // by place
  int place_ = -1;
  introduction own_ = {};
  bool is_used_by_others_ = false;
  std::atomic<int> persistent_colls_{0};
  std::shared_ptr<void> team_;  // null: it is a group of the program
  std::optional<net::context::allocation> block_;
  std::unique_ptr<matching_engine_impl_t> engine_;
  std::unique_ptr<rt::shared_memory> shared_memory_;
  std::unique_ptr<rt::shared_memory> host_memory_;  // until there is a hierarchy
  std::unique_ptr<rt::hierarchy> hierarchy_;
};

namespace rt {

// Throws std::invalid_argument, naming `call`, if the group is empty or freed.
group_impl_t& checked_group(group_t group, const char* call);

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_INSTANCE_GROUP_H_
