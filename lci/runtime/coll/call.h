// One call of a collective operation: what its options mean, its number, and which way it goes.
#ifndef LCI_RUNTIME_COLL_CALL_H_
#define LCI_RUNTIME_COLL_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lci/api/coll.hpp"
#include "lci/coll/operation.h"
#include "lci/coll/signature.h"
#include "lci/runtime/coll/shared_memory.h"
#include "lci/runtime/resolve.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {

// The object is made, the caller checks the arguments, and begin() takes the number of the
// operation: a call with a wrong argument takes none. Then the operation either runs in shared
// memory or is made into a plan of messages, the same on all ranks.
//
// Thread safety: none; one thread makes and uses it.
class collective_call {
 public:
  // Throws std::invalid_argument or std::logic_error as documented in lci/api/coll.hpp.
  template <class Op>
  collective_call(const Op& op, coll::operation_kind kind)
      : collective_call(resolve(op.get_runtime(), op.get_device(), op.get_endpoint()),
                        op.get_matching_engine(), op.get_comp(), kind) {}

  runtime_impl_t& runtime() const { return runtime_; }
  device_impl_t& device() const { return device_; }
  matching_engine& engine() const { return engine_; }
  // Null: the call blocks.
  comp_impl_t* comp() const { return comp_; }
  coll::operation_kind kind() const { return kind_; }
  const char* name() const { return coll::name_of(kind_); }
  int rank() const { return runtime_.rank(); }
  int size() const { return runtime_.size(); }
  // Among the operations of its engine, from 1; 0 before begin().
  uint64_t number() const { return number_; }

  // `called`: what all ranks must call equally; its kind is set here.
  void begin(coll::signature called);

  // Whether the operation can run in shared memory if each rank offers so many bytes, of which the
  // operation offers up to `most_in_area` in the area. Depends on what is equal on all ranks alone.
  bool is_shared(size_t offered, size_t most_in_area) const;

  // Carries out a coll::operation: to its end, or, with a comp, as far as it goes.
  template <class Operation, class... Arguments>
  void run(const Arguments&... arguments) const {
    const coll::ticket ticket{arena(), number_, hash_};
    if (comp_ == nullptr) {
      Operation operation(ticket, arguments...);
      run_blocking(&operation);
    } else {
      runtime_.shared_memory()->start(std::make_unique<Operation>(ticket, arguments...), name(),
                                      comp_);
    }
  }

  // The operation, which has begun, does not need the arena.
  void use_messages() const;

  // Throws std::runtime_error if it is known that another rank calls another operation.
  void check_agreement() const;
  // Throws peer_failure_error if a rank has failed.
  void check_peers() const;

 private:
  collective_call(const target& where, matching_engine_t engine, comp_t comp,
                  coll::operation_kind kind);
  void run_blocking(coll::operation* operation) const;
  void record(const coll::signature& called) const;
  // Null where this engine's operations do not meet in one.
  coll::arena* arena() const;

  runtime_impl_t& runtime_;
  device_impl_t& device_;
  matching_engine& engine_;
  comp_impl_t* const comp_;
  const coll::operation_kind kind_;
  uint64_t number_ = 0;
  uint64_t hash_ = 0;
};

// Of free_runtime: a barrier that no barrier of the program pairs with.
void final_barrier(runtime_t runtime);

// item_size * count. Throws std::invalid_argument if that is more than there can be.
size_t bytes_of(size_t count, size_t item_size, const char* what);
// Throws std::invalid_argument if `buffer` is null and `bytes` is not 0.
void check_buffer(const void* buffer, size_t bytes, const char* what, const char* name);
void check_op(reduce_op_t op, const char* what);
void check_root(int root, int size, const char* what);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLL_CALL_H_
