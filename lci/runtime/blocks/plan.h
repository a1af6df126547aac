// The object behind a plan_t (api/plan.hpp).
#ifndef LCI_RUNTIME_BLOCKS_PLAN_H_
#define LCI_RUNTIME_BLOCKS_PLAN_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/block.hpp"
#include "lci/api/comp.hpp"
#include "lci/runtime/blocks/block.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/protocol/rma.h"

namespace lci {

class runtime_impl_t;

// Each operation over each of its devices is a step. The state of a step is made when the step is
// recorded. The pieces of one message that the network moves during the post are one step together.
// The end of a round is published twice: by left_, before the local completion objects are
// signaled, so that a thread that waits for these may start the plan again; and by rounds_ended_
// after them, so that a thread that waits for the plan may use them. A round may therefore begin a
// few instructions before the end of the last one is published.
//
// Thread safety: as api/plan.hpp says.
class plan_impl_t : public rt::live_object {
 public:
  // comp: signaled at the end of each round; may be null.
  plan_impl_t(runtime_impl_t& runtime, const plan_attr_t& attributes, comp_impl_t* comp);
  ~plan_impl_t();

  // Records operations that are together one event of `comp` (null: of none) and of their remote
  // signal. `comp` is a signal if they have several stripes.
  void add(const std::vector<rt::block_operation>& operations, comp_impl_t* comp);
  void start();
  bool test() const;
  bool is_running() const { return left_.load(std::memory_order_acquire) != 0; }

  runtime_impl_t& runtime;
  plan_attr_t attr;

 private:
  struct step final : rt::rma_transfer {
    plan_impl_t* plan = nullptr;
    device_impl_t* device = nullptr;
    const mr_impl_t* mr = nullptr;  // of the local block
    uint64_t serial = 0;            // of it
    std::vector<run> own_runs;      // what `runs` points to

    void start();
    void transfer_ended(rt::protocol_host& host, errorcode_t code) override;
  };
  step& add_step(const rt::stripe& stripe, comp_impl_t* comp, uint32_t part);
  void end_step(const step& finished, errorcode_t code);
  bool is_over() const {
    return rounds_ended_.load(std::memory_order_acquire) ==
           rounds_started_.load(std::memory_order_relaxed);
  }
  // Not a wait for communication: no step is left.
  void wait_for_end() const;

  comp_impl_t* const comp_;
  std::deque<step> steps_;
  std::atomic<size_t> left_{0};  // steps of this round that are not over
  std::atomic<uint64_t> ended_steps_{
      0};  // ends of steps of all rounds since the plan was last changed
  std::atomic<uint64_t> rounds_started_{0};
  std::atomic<uint64_t> rounds_ended_{0};
  static constexpr int none = -1;
  std::atomic<int> failed_rank_{none};
};

namespace rt {

// Throws std::invalid_argument, naming `call`, if the plan is empty or freed, and std::logic_error
// if it belongs to the process that this one was forked from.
plan_impl_t& checked_plan(plan_t plan, const char* call);

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_BLOCKS_PLAN_H_
