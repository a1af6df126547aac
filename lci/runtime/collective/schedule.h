// A collective operation as one rank sees it: messages and local work, in a partial order. Blocking
// and non-blocking forms are the same graph.
#ifndef LCI_RUNTIME_COLLECTIVE_SCHEDULE_H_
#define LCI_RUNTIME_COLLECTIVE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <exception>
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
// Thread safety: none; one thread builds a schedule and runs it once. If its call is recorded,
// run() hands it to the recorder, which runs it many times.
class collective_schedule {
 public:
  using step = graph_node_t;
  class recorded;

  // Rounds are below this number.
  static constexpr uint32_t most_rounds = uint32_t{1} << 26;

  // The tag of the messages of round 0 of an operation. No operation is of kind `none`: tags of
  // that kind are for messages about the operation with that number (neighbor_check.h).
  static tag_t tag_of(uint64_t number, coll::operation_kind kind);

  // `call`, which outlives the schedule, has begun. `room`: bytes of memory of the schedule's own.
  explicit collective_schedule(const collective_call& call, size_t room = 0);
  ~collective_schedule();
  collective_schedule(const collective_schedule&) = delete;
  collective_schedule& operator=(const collective_schedule&) = delete;

  int rank() const { return among_ == nullptr ? call_.rank() : rank_among_; }
  int size() const { return among_ == nullptr ? call_.size() : static_cast<int>(among_->size()); }
  char* room() const;
  // From here on, rank(), size() and the ranks of steps count only these ranks of the call; this
  // rank is number `rank` of them. Null: all ranks, as initially. `ranks` must outlive the
  // construction.
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
  // collective_call::use_hosts). Broken off if the schedule ends before its turn, so that the other
  // ranks of the host do not wait.
  template <class Operation, class... Arguments>
  step meet(uint64_t phase, const Arguments&... arguments) {
    static_assert(sizeof(Operation) <= sizeof(shared_memory::room));
    return add_shared_step(phase,
                           [arguments...](shared_memory::room* where, const coll::ticket& own) {
                             return new (where) Operation(own, arguments...);
                           });
  }

  // Steps that are added from here on come after all earlier ones.
  void then();
  // Also orders two single steps.
  void order(step before, step after);

  // Runs it: to its end, or, if the operation has a `comp`, as far as it goes without waiting; or
  // hands it over.
  // Throws peer_failure_error or std::runtime_error when it blocks and fails.
  void run();

 private:
  struct state;
  struct action;
  struct arrivals;
  struct shared_step;

  step add(action added);
  step add_shared_step(uint64_t phase, shared_memory::operation_maker make);
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

// Of a call that has been recorded. Its end is reported to the recorder.
//
// Thread safety: one thread at a time.
class collective_schedule::recorded {
 public:
  // `phases`: that it uses in the memory of its host.
  recorded(std::unique_ptr<graph> steps, state* of_steps, uint64_t phases);
  // `call` has begun. Behind the end, which may be reported before this returns, the object may be
  // gone.
  void start(collective_call* call);
  // After a start that has ended by an error: the other ranks of the host do not wait for the steps
  // in its memory that have not begun.
  void break_off();

 private:
  const std::unique_ptr<graph> steps_;
  state* const state_;  // the graph's
  const uint64_t phases_;
};

// Makes progress until the messages of the operation are over, that is, until is_over(). Throws the
// loss of a rank only then, since the messages use the caller's buffers; throws std::runtime_error
// at once if another rank calls another operation. `oversubscribed`: as of collective_call::wait().
template <class IsOver>
void wait_for_messages(const collective_call& call, IsOver is_over, bool oversubscribed = false) {
  constexpr uint32_t rounds_before_check = 256;
  std::exception_ptr failure;
  const auto is_done = [&call, &is_over, rounds = uint32_t{0}]() mutable {
    // Ranks that call another operation may never send what this one waits for.
    if (++rounds % rounds_before_check == 0) call.check_agreement();
    return is_over();
  };
  while (!is_over()) {
    try {
      call.wait(is_done, oversubscribed);
    } catch (const peer_failure_error&) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}
// Throws if the messages ended with `fatal`.
void check_end_of_messages(const collective_call& call, errorcode_t code);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_SCHEDULE_H_
