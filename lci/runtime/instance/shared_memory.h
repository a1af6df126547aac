// Collective operations of a runtime, or a group, whose ranks share memory: their arena, and the
// operations that are under way in it without a thread that waits for them.
#ifndef LCI_RUNTIME_INSTANCE_SHARED_MEMORY_H_
#define LCI_RUNTIME_INSTANCE_SHARED_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/boot/bootstrap.h"
#include "lci/coll/arena.h"
#include "lci/coll/operation.h"
#include "lci/ds/object_pool.h"
#include "lci/net/backend.h"
#include "lci/observe/subject.h"

namespace lci {

class comp_impl_t;
class device_impl_t;
class group_impl_t;
class runtime_impl_t;

namespace rt {

// Thread safety: every member by any thread at any time, construction and destruction excepted.
class shared_memory {
 public:
  // Of all ranks. Collective. Null if the ranks of this network cannot map each other's memory.
  // Throws std::runtime_error. Makes no progress: what other ranks may have sent already is for
  // completion objects that this rank has not registered yet.
  static std::unique_ptr<shared_memory> make(runtime_impl_t& runtime, boot::bootstrap& boot,
                                             net::context& network);

  // The ranks of a host that meet, and their blocks.
  struct host_blocks {
    std::vector<int> ranks;     // as the runtime counts them
    int index = 0;              // of this rank among them
    std::vector<void*> blocks;  // mapped here; null: not
  };
  // Of `here`, which are all ranks of the runtime or of `group`, which may be null, or those of
  // them that are on this host. Local. Each call of the program takes `numbers_per_call`
  // operations.
  static std::unique_ptr<shared_memory> make(runtime_impl_t& runtime, const group_impl_t* group,
                                             net::context& network, host_blocks here,
                                             uint64_t numbers_per_call);
  // Operations that are still under way end with `fatal`.
  ~shared_memory();

  // Collective. A new block of each rank whose memory this rank can map. Throws
  // std::runtime_error, with the text `failure`.
  static host_blocks exchange_blocks(boot::bootstrap& boot, net::context& network,
                                     const char* failure);

  coll::arena& arena() { return *arena_; }
  // The access of this rank to the blocks.
  coll::arena::join_state own_state() const { return own_state_; }
  // A rank whose loss ends the operations; -1: none.
  int first_failed() const;

  // An operation that is carried out while threads make progress. The caller that starts it sets
  // the first three members.
  struct pending {
    coll::operation* operation = nullptr;
    const char* call = nullptr;
    comp_impl_t* comp = nullptr;  // signaled when nothing here is used any more
    bool is_of_pool = false;
    uint32_t since = 0;                 // when it was started, by observe::coarse_clock
    std::optional<errorcode_t> result;  // once it is over
    // Where an exception that ends it is kept before comp is signaled; null: it is logged.
    std::exception_ptr* failure = nullptr;
    pending* next = nullptr;
  };

  // Starts the operation. `may_complete_immediately`: comp may be signaled before the call returns.
  void start(pending* each, bool may_complete_immediately);
  // As it may be if signaling `comp` calls nothing of the program: a handler that starts the next
  // operation would otherwise call itself, as often as operations end at once.
  static bool may_complete_immediately(const comp_impl_t& comp);

  // For an exception handler: throws the reason for which the operation of a call could not copy
  // from or to another rank's memory. That is peer_failure_error if `device`, which may be null, knows
  // that the rank is gone, or what check_agreement() throws, or the error itself.
  [[noreturn]] void throw_reason(const coll::memory_error& error, const coll::operation& failed,
                                 const char* call, const device_impl_t* device) const;

  // Memory for an operation of any kind.
  struct room {
    alignas(std::max_align_t) unsigned char bytes[240];
  };

  // The same of an operation that is made for it. Allocates nothing once as many operations have
  // been under way at a time, except for what the arguments contain.
  template <class Operation, class... Arguments>
  void start_new(const char* call, comp_impl_t* comp, const coll::ticket& own,
                 const Arguments&... arguments) {
    static_assert(sizeof(Operation) <= sizeof(room));
    const auto make = [&](room* where) { return new (where) Operation(own, arguments...); };
    start(from_pool(call, comp, make), may_complete_immediately(*comp));
  }

  // Makes an operation there.
  using operation_maker = std::function<coll::operation*(room*, const coll::ticket&)>;
  // As start_new(), for a step of an operation: returns true, without signaling `comp`, if it is
  // over already. Throws what ends it at once. `failure`: see pending.
  bool start_step(const operation_maker& make, const coll::ticket& own, const char* call,
                  comp_impl_t* comp, std::exception_ptr* failure);

  // For progress(): whether there is anything to advance, which costs a load.
  bool has_pending() const { return pending_count_.load(std::memory_order_relaxed) != 0; }
  // Advances what start() has been given. Returns whether an operation has ended. Leaves it to
  // another thread that is doing so already.
  bool advance();

  // For the observer's thread, as of observe::subject.
  void describe(observe::rank_report* report);

 private:
  struct pooled : pending {
    room of_operation;
  };

  // make(room): the operation.
  template <class Make>
  pooled* from_pool(const char* call, comp_impl_t* comp, const Make& make) {
    pooled* const made = pool_.make();
    try {
      made->operation = make(&made->of_operation);
    } catch (...) {
      pool_.recycle(made);
      throw;
    }
    made->call = call;
    made->comp = comp;
    made->is_of_pool = true;
    made->failure = nullptr;
    return made;
  }

  shared_memory(runtime_impl_t& runtime, const group_impl_t* group, net::context& network,
                host_blocks here, uint64_t numbers_per_call);
  // Whether it is over; then it has a result.
  bool advance(pending* each);
  // The same of its operation; throws what ends that.
  bool advance_operation(const pending& each) const;
  // For an exception handler.
  static void fail(pending* each, const std::exception& error);
  void keep(pending* each);
  // Frees what is of the pool.
  void release(pending* each);
  void end(pending* each);

  runtime_impl_t& runtime_;
  const group_impl_t* const group_;  // null: of all ranks
  coll::arena::join_state own_state_ = coll::arena::join_state::unknown;
  std::unique_ptr<coll::arena> arena_;
  ds::object_pool<pooled> pool_;
  std::atomic<size_t> pending_count_{0};
  std::mutex mutex_;
  pending* first_ = nullptr;  // guarded by mutex_, as the list that begins here
  pending** last_ = &first_;  // guarded by mutex_: where the next one is added

  const observe::listed<shared_memory> listed_{this};
};

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_INSTANCE_SHARED_MEMORY_H_
