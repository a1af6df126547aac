#include "benchmarks/perf/job.h"

namespace perf {

job::job(lci::runtime_t runtime, int device_count)
    : runtime_(runtime), rank_(lci::get_rank_me()), ranks_(lci::get_rank_n()) {
  devices_.push_back(lci::get_default_device_x().runtime(runtime)());
  for (int i = 1; i < device_count; ++i) {
    devices_.push_back(lci::alloc_device_x().runtime(runtime)());
  }
}

job::~job() {
  for (size_t i = 1; i < devices_.size(); ++i) {
    lci::wait_drained_x().runtime(runtime_).device(devices_[i])();
    lci::free_device_x(&devices_[i]).runtime(runtime_)();
  }
}

}  // namespace perf
