// A collective operation as one rank sees it: messages and local work, in a partial order. Blocking
// and non-blocking forms are the same graph.
#ifndef LCI_RUNTIME_COLLECTIVE_PLAN_H_
#define LCI_RUNTIME_COLLECTIVE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/completion/graph.h"

namespace lci::rt {

// A collective operation as messages. Messages of one operation never meet those of another, nor
// those of another round: they are matched by (sender, number and kind of the operation on its
// engine, round).
//
// Thread safety: none; one thread builds a plan and runs it once.
class plan {
 public:
  using step = graph_node_t;

  // Rounds are below this number.
  static constexpr uint32_t most_rounds = uint32_t{1} << 26;

  // The tag of the messages of round 0 of an operation. No operation is of kind `none`: tags of
  // that kind are for messages about the operation with that number (agreement.h).
  static tag_t tag_of(uint64_t number, coll::operation_kind kind);

  // `call`, which outlives the plan, has begun. `room`: bytes of memory of the plan's own.
  explicit plan(const collective_call& call, size_t room = 0);
  ~plan();
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;

  int rank() const { return among_ == nullptr ? call_.rank() : rank_among_; }
  int size() const { return among_ == nullptr ? call_.size() : static_cast<int>(among_->size()); }
  char* room() const;
  // From here on, rank(), size() and the ranks of steps count these ranks of the call alone, of
  // which this one is number `rank`; null: all, as at first. `ranks` outlives the building.
  void set_among(const std::vector<int>* ranks, int rank) {
    among_ = ranks;
    rank_among_ = rank;
  }

  // Steps. Each comes after all that was added before the last then(), and is otherwise in no
  // order.
  step send(int to, const void* bytes, size_t size, uint32_t round);
  step receive(int from, void* bytes, size_t size, uint32_t round);
  step copy(void* to, const void* from, size_t size);
  // *dst = left op right, `count` items; dst may be right.
  step reduce(reduce_op_t op, const void* left, const void* right, void* dst, size_t count);

  // Carries out an operation of this rank's host, the one that has the ticket for `phase` (see
  // collective_call::use_hosts). Broken off if the plan ends before its turn, so that the other
  // ranks of the host do not wait.
  template <class Operation, class... Arguments>
  step meet(uint64_t phase, const Arguments&... arguments) {
    const coll::ticket ticket = call_.host_ticket(phase);
    return add_meeting([ticket, arguments...]() -> std::unique_ptr<coll::operation> {
      return std::make_unique<Operation>(ticket, arguments...);
    });
  }

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
  struct arrivals;
  struct meeting;

  step add(action added);
  step add_meeting(std::function<std::unique_ptr<coll::operation>()> make);
  int place_of(int rank) const {
    return among_ == nullptr ? rank : (*among_)[static_cast<size_t>(rank)];
  }
  void run_blocking();

  const collective_call& call_;
  const std::vector<int>* among_ = nullptr;
  int rank_among_ = -1;
  std::unique_ptr<graph> graph_;
  state* state_;  // the graph's
  struct end_flag* end_ = nullptr;
  step phase_begin_;         // what all steps of this phase come after
  std::vector<step> phase_;  // the steps of this phase
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_PLAN_H_
