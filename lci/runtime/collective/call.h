// One call of a collective operation: what its options mean, its number, and which way it goes.
#ifndef LCI_RUNTIME_COLLECTIVE_CALL_H_
#define LCI_RUNTIME_COLLECTIVE_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "lci/api/coll.hpp"
#include "lci/coll/blocks.h"
#include "lci/coll/operation.h"
#include "lci/coll/signature.h"
#include "lci/coll/staging.h"
#include "lci/runtime/core/buffer_size.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/hierarchy.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/instance/shared_memory.h"

namespace lci::rt {

class call_recorder;

// Losses of ranks that concern others than the caller, to be thrown by a later progress().
class deferred_failures {
 public:
  explicit deferred_failures(runtime_impl_t& runtime) : runtime_(runtime) {}
  ~deferred_failures() {
    for (const peer_failure_error& each : failures_) runtime_.defer_failure(each);
  }
  deferred_failures(const deferred_failures&) = delete;
  deferred_failures& operator=(const deferred_failures&) = delete;
  void add(const peer_failure_error& failure) { failures_.push_back(failure); }

 private:
  runtime_impl_t& runtime_;
  std::vector<peer_failure_error> failures_;
};

// The object is made, the caller checks the arguments, and begin() takes the number of the
// operation: a call with a wrong argument takes none. Then the operation either runs in shared
// memory or is made into a schedule of messages, the same on all ranks. If the comp is a
// call_recorder, it keeps the operation, or the schedule, instead, and each start is a copy of this
// object that begins.
//
// Thread safety: none; one thread makes and uses it.
class collective_call {
 public:
  // Throws std::invalid_argument or std::logic_error as documented in lci/api/coll.hpp.
  template <class Op>
  collective_call(const Op& op, coll::operation_kind kind)
      : collective_call(__builtin_expect(op.get_group().p_impl == nullptr, 1)
                            ? target_of(op.get_runtime(), op.get_device(), op.get_endpoint())
                            : target_in(op.get_group(), op.get_runtime(), op.get_device(),
                                        op.get_endpoint(), kind),
                        op.get_group().p_impl, op.get_matching_engine(), op.get_comp(), kind) {}

  runtime_impl_t& runtime() const { return runtime_; }
  device_impl_t& device() const { return device_; }
  matching_engine& engine() const { return *engine_; }
  // Null: the call blocks.
  comp_impl_t* comp() const { return comp_; }
  coll::operation_kind kind() const { return kind_; }
  const char* name() const { return coll::name_of(kind_); }
  // Among the ranks that call the operation: those of the runtime, or of a group.
  int rank() const { return group_ == nullptr ? runtime_.rank() : group_->place(); }
  int size() const { return group_ == nullptr ? runtime_.size() : group_->size(); }
  // How the runtime counts the rank that these count as `rank`.
  int global_rank(int rank) const { return group_ == nullptr ? rank : group_->rank_at(rank); }
  // How that rank names its matching engine for the operation.
  uint16_t engine_of(int rank) const {
    return group_ == nullptr ? static_cast<uint16_t>(engine_->id) : group_->engine_of(rank);
  }
  // A rank whose loss ends the operation; -1: none.
  int first_failed() const {
    return group_ == nullptr ? runtime_.first_failed() : group_->first_failed();
  }
  // For reports, which count the operations of all ranks: 0 in a group.
  uint64_t reported_number() const { return group_ == nullptr ? number_ : 0; }
  const char* reported_name() const {
    return group_ == nullptr ? name() : coll::name_in_group(kind_);
  }
  // Among the operations of its engine, from 1; 0 before begin().
  uint64_t number() const { return number_; }

  // `called`: what all ranks must call equally; its kind is set here. `op`: the operator, which
  // LCI_CHECK compares.
  // (Not by value: copying what has just been written takes longer than writing it.)
  void begin(coll::signature&& called, reduce_op_t op = nullptr);

  // Null: the call is carried out.
  call_recorder* recorder() const { return recorder_; }
  // The call that has been recorded by this one, to be carried out with this comp.
  collective_call recorded(comp_impl_t* comp) const {
    collective_call made(*this);
    made.comp_ = comp;
    made.recorder_ = nullptr;
    return made;
  }
  // Carries out an operation that was recorded; with a comp, `started` is what shared memory keeps
  // of it meanwhile, and its comp is set.
  void run_recorded(coll::operation* operation, shared_memory::pending* started) const;
  // The group, null: all ranks.
  group_impl_t* group() const { return group_; }

  // To be called before begin(): the operation uses the room of this object instead of buffers of
  // the program, which it packs first and unpacks at its end.
  coll::staging& make_staging() {
    if (staging_ == nullptr) staging_ = std::make_shared<coll::staging>();
    return *staging_;
  }
  // Null: the operation uses the buffers of the program.
  const std::shared_ptr<coll::staging>& staging() const { return staging_; }

  // Before begin(): the operation goes by messages, and its arena does not hear of it.
  void leave_arena() {
    shared_ = nullptr;
    hosts_ = nullptr;
  }

  // For is_shared() and by_hosts(): those of the memory in which the ranks, or the ranks of each
  // host, meet; zeros where they do not.
  const coll::crossovers& sizes() const {
    return __builtin_expect(shared_ != nullptr, 1) ? shared_->arena().sizes() : sizes_of_hosts();
  }

  // Returns whether the operation can run in shared memory if each rank offers `offered` bytes. The
  // operation offers up to `most_in_area` bytes in the area, and more, if `fits_pieces`, in pieces.
  // The answer depends only on values that are equal on all ranks.
  bool is_shared(size_t offered, size_t most_in_area, bool fits_pieces = false) const {
    if (shared_ == nullptr) return false;
    const coll::arena::join_state joined = shared_->arena().joined();
    if (__builtin_expect(joined == coll::arena::join_state::readable, 1)) return true;
    return joined == coll::arena::join_state::mapped &&
           (offered <= most_in_area || (fits_pieces && offered <= sizes().in_pipe));
  }

  // Whether the ranks of each host can meet in their shared memory, as is_shared(), where the ranks
  // are on several hosts: then how they are; else null.
  const hierarchy* by_hosts(size_t offered, size_t most_in_area) const;
  // Before the schedule of an operation for which by_hosts() is not null: it uses the first `count`
  // operations of its host's arena, each with its ticket.
  void use_hosts(uint64_t count);
  coll::ticket host_ticket(uint64_t phase) const;
  uint64_t phases_in_use() const { return used_phases_; }
  // Null if the ranks are not on several hosts, or the operation does not use their memory.
  const hierarchy* hosts_in_use() const { return used_phases_ == 0 ? nullptr : hosts_; }

  // Carries out a coll::operation: to its end, or, with a comp, as far as it goes.
  template <class Operation, class... Arguments>
  void run(const Arguments&... arguments) const {
    if constexpr (!std::is_final_v<Operation>) {
      if (__builtin_expect(staging_ != nullptr, 0)) {
        return run_as<coll::staged<Operation>>(staging_, arguments...);
      }
    }
    run_as<Operation>(arguments...);
  }

  // The operation, which has begun, does not need the arena.
  void use_messages() const;

  // Makes progress until done(), which may throw. The loss of a rank outside of the group does not
  // end the wait: a later progress() throws it. `oversubscribed`: all ranks run on this host, which
  // has fewer processors.
  template <class Done>
  void wait(Done done, bool oversubscribed = false) const {
    const observe::wait_info what{reported_name(), observe::rank_report::any_rank,
                                  reported_number()};
    deferred_failures outside(runtime_);
    for (;;) {
      try {
        return oversubscribed ? wait_oversubscribed(device_, what, done)
                              : wait_until(&device_, what, done);
      } catch (const peer_failure_error& failure) {
        if (group_ == nullptr || group_->place_of(failure.failed_rank()) >= 0) throw;
        outside.add(failure);
      }
    }
  }

  // Throws std::runtime_error if it is known that another rank calls another operation.
  void check_agreement() const;
  // Throws std::logic_error if this thread is inside a handler and other ranks take part. `inside`:
  // the call that starts the operation, with a colon, or empty; `instead`: what the program can do.
  void refuse_wait_in_handler(const char* inside, const char* instead) const;
  // Throws peer_failure_error if a rank has failed.
  void check_peers() const;
  // The same once the operation has failed: a rank may be gone that progress() has not named yet.
  void check_deaths() const;

 private:
  [[noreturn]] void report_gone(int rank) const;
  void begin_checked(const coll::signature& called, reduce_op_t op);
  collective_call(const target& where, group_impl_t* group, matching_engine_t engine, comp_t comp,
                  coll::operation_kind kind);
  static target target_in(group_t group, runtime_t runtime, device_t device, endpoint_t endpoint,
                          coll::operation_kind kind);
  template <class Operation, class... Arguments>
  void run_as(const Arguments&... arguments) const {
    const coll::ticket ticket{arena(), number_, hash_};
    if (comp_ == nullptr) {
      Operation operation(ticket, arguments...);
      run_blocking(&operation);
    } else if (__builtin_expect(recorder_ == nullptr, 1)) {
      shared_->start_new<Operation>(name(), comp_, ticket, arguments...);
    } else {
      keep(std::make_unique<Operation>(ticket, arguments...));
    }
  }
  void run_blocking(coll::operation* operation) const;
  void keep(std::unique_ptr<coll::operation> operation) const;
  void record(const coll::signature& called) const;
  // Sets engine_ and where the ranks meet, by the options that most calls do not have.
  void use_options(group_impl_t* group, matching_engine_t engine);
  const coll::crossovers& sizes_of_hosts() const;
  coll::arena* arena() const { return shared_ == nullptr ? nullptr : &shared_->arena(); }
  // The number of the operation in the arena of the host, before those of its other phases.
  uint64_t before_phases() const { return (number_ - 1) * hierarchy::phases; }

  runtime_impl_t& runtime_;
  group_impl_t* const group_;  // null: all ranks
  device_impl_t& device_;
  matching_engine* engine_;
  // Where all ranks meet; null: they do not, or this engine's operations go by messages.
  shared_memory* shared_;
  // The same of the ranks of each host, where these are on several hosts.
  const hierarchy* hosts_;
  comp_impl_t* comp_;
  call_recorder* recorder_;
  const coll::operation_kind kind_;
  uint64_t number_ = 0;
  uint64_t hash_ = 0;
  uint64_t phase_hashes_[hierarchy::phases] = {};
  uint64_t used_phases_ = 0;
  std::shared_ptr<coll::staging> staging_;
};

// Of free_runtime: a barrier that no barrier of the program pairs with.
void final_barrier(runtime_t runtime);

[[noreturn]] void refuse_bytes(size_t count, size_t item_size, const char* what);
// item_size * count. Throws std::invalid_argument if that is more than there can be.
inline size_t bytes_of(size_t count, size_t item_size, const char* what) {
  size_t bytes = 0;
  if (__builtin_expect(__builtin_mul_overflow(count, item_size, &bytes), 0)) {
    refuse_bytes(count, item_size, what);
  }
  return bytes;
}
[[noreturn]] void refuse_buffer(size_t bytes, const char* what, const char* name);
// Throws std::invalid_argument if `buffer` is null and `bytes` is not 0, or no buffer has so many.
inline void check_buffer(const void* buffer, size_t bytes, const char* what, const char* name) {
  if (__builtin_expect((buffer == nullptr && bytes > 0) || bytes > max_buffer_bytes, 0)) {
    refuse_buffer(bytes, what, name);
  }
}
[[noreturn]] void refuse_op(const char* what);
inline void check_op(reduce_op_t op, const char* what) {
  if (__builtin_expect(op == nullptr, 0)) refuse_op(what);
}
[[noreturn]] void refuse_root(int root, int size, const char* what);
inline void check_root(int root, int size, const char* what) {
  if (__builtin_expect(root < 0 || root >= size, 0)) refuse_root(root, size, what);
}

// The bytes of each rank's block, where `counts` are items of `item_size` bytes. Throws
// std::invalid_argument if `counts`, which the program calls `name`, is null.
std::vector<size_t> sizes_of(const size_t* counts, size_t item_size, const collective_call& call,
                             const char* name);
size_t sum_of(const std::vector<size_t>& sizes, const char* what);
// `offsets`: of each block; null: one behind the other.
coll::block_layout layout_of(const std::vector<size_t>& sizes, const size_t* offsets,
                             const char* what);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_CALL_H_
