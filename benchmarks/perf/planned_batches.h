// The batches of a channel as plans of the library.
#ifndef BENCHMARKS_PERF_PLANNED_BATCHES_H_
#define BENCHMARKS_PERF_PLANNED_BATCHES_H_

#include <array>
#include <cstddef>
#include <optional>

#include "lci.hpp"

namespace perf {

// Up to two batches of puts, each recorded in a plan that is started again and again. Each put is
// an event of the target's signal for that batch. Not thread-safe.
class planned_batches {
 public:
  using blocks = std::array<lci::block_t, 2>;  // one for each batch

  // The first `half` bytes of the memory are put to the second half of the partner's. A batch of
  // size 0 does not exist.
  planned_batches(lci::runtime_t runtime, lci::device_t device, lci::mr_t memory, size_t half,
                  const std::array<int, 2>& batch_sizes);
  ~planned_batches();
  planned_batches(const planned_batches&) = delete;
  planned_batches& operator=(const planned_batches&) = delete;

  // Where the partner's puts go.
  const blocks& targets() const { return targets_; }
  // Both record the plans anew, once the partner's blocks and the size are known. No plan runs.
  void set_peer_targets(const blocks& targets);
  // Message i of all batches is at byte i * stride of either half.
  void set_size(size_t size, size_t stride);

  void start(int batch) { lci::plan_start_x(plan_of(batch)).runtime(runtime_)(); }
  // Whether the batch that was started last may be written again.
  bool is_complete(int batch) const { return lci::plan_test_x(plan_of(batch)).runtime(runtime_)(); }
  // Once for each batch of the partner: true if all of its puts have arrived. The signal then waits
  // for the next batch, which the partner must not start before it learns of this.
  bool has_arrived(int batch);

 private:
  lci::plan_t plan_of(int batch) const { return plans_[static_cast<size_t>(batch)]; }
  void record();
  void free_plans();

  const lci::runtime_t runtime_;
  const lci::device_t device_;
  const std::array<int, 2> batch_sizes_;
  std::array<lci::comp_t, 2> arrived_;
  lci::block_t source_;
  blocks targets_;
  std::optional<blocks> peer_targets_;
  std::optional<size_t> size_;
  size_t stride_ = 0;
  std::array<lci::plan_t, 2> plans_;
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_PLANNED_BATCHES_H_
