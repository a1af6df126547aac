#include "benchmarks/perf/job.h"

namespace perf {

job::job(lci::runtime_t runtime, int device_count, default_device of_runtime)
    : runtime_(runtime),
      rank_(lci::get_rank_me()),
      ranks_(lci::get_rank_n()),
      first_own_(of_runtime == default_device::is_first ? 1 : 0) {
  if (first_own_ > 0) devices_.push_back(lci::get_default_device_x().runtime(runtime)());
  while (devices_.size() < static_cast<size_t>(device_count)) {
    devices_.push_back(lci::alloc_device_x().runtime(runtime)());
  }
}

job::~job() {
  for (size_t i = first_own_; i < devices_.size(); ++i) {
    lci::wait_drained_x().runtime(runtime_).device(devices_[i])();
    lci::free_device_x(&devices_[i]).runtime(runtime_)();
  }
}

}  // namespace perf
