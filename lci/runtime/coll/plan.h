// A collective operation as one rank sees it: messages and local work, in a partial order. Blocking
// and non-blocking forms are the same graph.
#ifndef LCI_RUNTIME_COLL_PLAN_H_
#define LCI_RUNTIME_COLL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/api/coll.hpp"
#include "lci/runtime/comp/graph.h"
#include "lci/runtime/resolve.h"

namespace lci::rt {

// Messages of one collective never meet those of another, nor those of another round: they are
// matched by (sender, number of the collective on its engine, round).
//
// Thread safety: none; one thread builds a plan and runs it once.
class plan {
 public:
  using step = graph_node_t;

  // Takes the next number of the matching engine: made once per call on every rank, in the same
  // order. `room`: bytes of memory of its own.
  template <class Op>
  plan(const Op& op, const char* what, size_t room = 0)
      : plan(resolve(op.get_runtime(), op.get_device(), op.get_endpoint()),
             op.get_matching_engine(), op.get_comp(), what, room) {}
  ~plan();
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  char* room() const;

  // Steps. Each comes after all that was added before the last then(), and is otherwise in no
  // order.
  step send(int to, const void* bytes, size_t size, uint32_t round);
  step receive(int from, void* bytes, size_t size, uint32_t round);
  step copy(void* to, const void* from, size_t size);
  // *dst = left op right, `count` items; dst may be right.
  step reduce(reduce_op_t op, const void* left, const void* right, void* dst, size_t count);

  // What is added from here on comes after everything added before.
  void then();
  // One step after another, besides.
  void order(step before, step after);

  // Runs it: to its end, or, if the operation has a `comp`, as far as it goes without waiting.
  // Throws peer_failure_error or std::runtime_error when it blocks and fails.
  void run();

 private:
  struct state;
  struct action;

  plan(const target& where, matching_engine_t engine, comp_t comp, const char* what, size_t room);
  step add(const action& added);
  void run_blocking();

  runtime_impl_t& runtime_;
  device_impl_t& device_;
  const int rank_;
  const int size_;
  const char* const what_;
  uint64_t number_ = 0;  // on its engine, counted from 1
  const comp_t comp_;
  std::unique_ptr<graph> graph_;
  state* state_;  // the graph's
  struct end_flag* end_ = nullptr;
  step phase_begin_;         // what all steps of this phase come after
  std::vector<step> phase_;  // the steps of this phase
};

// item_size * count. Throws std::invalid_argument if that is more than there can be.
size_t bytes_of(size_t count, size_t item_size, const char* what);
// Throws std::invalid_argument if `buffer` is null and `bytes` is not 0.
void check_buffer(const void* buffer, size_t bytes, const char* what, const char* name);
void check_op(reduce_op_t op, const char* what);
void check_root(int root, int size, const char* what);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLL_PLAN_H_
