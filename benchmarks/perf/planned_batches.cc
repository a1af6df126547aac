#include "benchmarks/perf/planned_batches.h"

namespace perf {

planned_batches::planned_batches(lci::runtime_t runtime, lci::device_t device, lci::mr_t memory,
                                 size_t half, const std::array<int, 2>& batch_sizes)
    : runtime_(runtime), device_(device), batch_sizes_(batch_sizes) {
  source_ = lci::make_block_x(memory, 0, half).runtime(runtime)();
  for (size_t batch = 0; batch < batch_sizes_.size(); ++batch) {
    if (batch_sizes_[batch] == 0) continue;
    arrived_[batch] = lci::alloc_signal_x(batch_sizes_[batch]).runtime(runtime)();
    targets_[batch] =
        lci::make_block_x(memory, half, half).runtime(runtime).recv_signal(arrived_[batch])();
  }
}

planned_batches::~planned_batches() {
  free_plans();
  for (lci::comp_t& signal : arrived_) {
    if (!signal.is_empty()) lci::free_comp(&signal);
  }
}

void planned_batches::set_peer_targets(const blocks& targets) {
  peer_targets_ = targets;
  record();
}

void planned_batches::set_size(size_t size, size_t stride) {
  size_ = size;
  stride_ = stride;
  record();
}

void planned_batches::record() {
  if (!size_ || !peer_targets_) return;
  free_plans();
  size_t offset = 0;
  for (size_t batch = 0; batch < batch_sizes_.size(); ++batch) {
    if (batch_sizes_[batch] == 0) continue;
    plans_[batch] = lci::alloc_plan_x().runtime(runtime_)();
    for (int i = 0; i < batch_sizes_[batch]; ++i, offset += stride_) {
      const auto part = [&](const lci::block_t& block) {
        return lci::sub_block_x(block, offset, *size_).runtime(runtime_)();
      };
      lci::plan_put_x(plans_[batch], part(source_), part((*peer_targets_)[batch]))
          .runtime(runtime_)
          .device(device_)();
    }
  }
}

void planned_batches::free_plans() {
  for (lci::plan_t& plan : plans_) {
    if (!plan.is_empty()) lci::free_plan_x(&plan).runtime(runtime_)();
  }
}

bool planned_batches::has_arrived(int batch) {
  const lci::comp_t signal = arrived_[static_cast<size_t>(batch)];
  if (!lci::signal_test_x(signal).runtime(runtime_)()) return false;
  lci::signal_reset_x(signal).runtime(runtime_)();
  return true;
}

}  // namespace perf
