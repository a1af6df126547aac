// The object behind a thread_team_t (api/thread_team.hpp), and a call of one of its threads.
#ifndef LCI_RUNTIME_COLLECTIVE_THREAD_TEAM_H_
#define LCI_RUNTIME_COLLECTIVE_THREAD_TEAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"
#include "lci/coll/signature.h"
#include "lci/ds/thread_barrier.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/resolve.h"

namespace lci {

// The threads of a rank meet at a barrier of threads. The last one to arrive calls the operation
// for its rank, in a group that only teams use; all copy from memory that belongs to the team, or,
// of a large broadcast, from the buffer of one of them.
//
// Thread safety: each place is written by its thread before it arrives; the rest by the last thread
// to arrive, before it opens the round. The last thread may read the places, and a thread whose
// round is open may read everything.
class thread_team_impl_t : public rt::live_object {
 public:
  // The arguments that a thread passes to an operation. `called.root` counts the threads of all
  // ranks.
  struct arguments {
    coll::signature called;
    const void* sendbuf = nullptr;
    void* recvbuf = nullptr;
    reduce_op_t op = nullptr;
  };
  struct alignas(ds::contention_distance) place {
    arguments current;
    uint64_t calls = 0;
  };
  // Why the last thread could not do what it did for all. Each thread throws an exception of its
  // own, made of it.
  struct failure {
    enum class kind { peer_failure, invalid_argument, other } what;
    int failed_rank;
    std::string text;
  };

  // `threads`: of each rank of `meets`, which the team owns and its maker frees.
  thread_team_impl_t(group_t meets, const std::vector<uint64_t>& threads,
                     const thread_team_attr_t& attributes);

  size_t threads() const { return places.size(); }  // of this rank
  size_t all_threads() const { return firsts_.back(); }
  size_t number_of(size_t thread) const { return firsts_[rank_] + thread; }
  // The rank in the group that the thread with this number is of.
  int rank_of(size_t number) const;
  // Among those of its rank.
  size_t thread_of(size_t number) const {
    return number - firsts_[static_cast<size_t>(rank_of(number))];
  }

  group_t group;
  thread_team_attr_t attr;
  std::vector<place> places;  // by thread
  ds::thread_barrier barrier;
  std::unique_ptr<const failure> failed;  // of the newest round; null: nothing
  std::vector<std::max_align_t> room;     // for the results of reductions and small broadcasts

 private:
  std::vector<size_t> firsts_;  // by rank, the number of its first thread; and the number of all
  size_t rank_;
};

namespace rt {

// A call of one thread. Blocks, and throws as documented in lci/api/thread_team.hpp.
class thread_call {
 public:
  // Throws std::invalid_argument or std::logic_error.
  template <class Op>
  thread_call(const Op& op, coll::operation_kind kind)
      : thread_call(op.get_thread_team(), op.get_thread(), kind) {
    take_target(op.get_runtime(), op.get_device(), op.get_endpoint());
    refuse(op.get_group().p_impl != nullptr, "group");
    refuse(!op.get_matching_engine().is_empty(), "matching_engine");
    refuse(!op.get_comp().is_empty(), "comp");
  }
  // The option `name`, which such a call cannot have, is set.
  void refuse(bool is_set, const char* name) const;

  const char* name() const { return coll::name_of(kind_); }
  size_t all_threads() const { return team_.all_threads(); }
  size_t number() const { return team_.number_of(thread_); }

  void barrier();
  void broadcast(void* buffer, size_t bytes, int root);
  // `root` -1: all threads get the result.
  void reduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size, reduce_op_t op,
              int root);

 private:
  thread_call(thread_team_t team, size_t thread, coll::operation_kind kind);
  void take_target(runtime_t runtime, device_t device, endpoint_t endpoint);
  void begin(const thread_team_impl_t::arguments& own);
  template <class Act>
  void meet(const Act& act);
  void wait(uint64_t round) const;
  [[noreturn]] void report_failed() const;
  void check_success() const;

  // Of the thread that acts for all.
  void check_equal() const;
  void make_room(size_t bytes);
  void combine(size_t first_item, size_t items);
  void combine_ranks(size_t count, int root) const;

  char* room() const { return reinterpret_cast<char*>(team_.room.data()); }
  int ranks() const;
  template <class Op>
  Op of_ranks(Op op) const;

  thread_team_impl_t& team_;
  const size_t thread_;
  const coll::operation_kind kind_;
  device_impl_t* device_ = nullptr;
};

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_COLLECTIVE_THREAD_TEAM_H_
