#ifndef LCI_RUNTIME_RESOLVE_H_
#define LCI_RUNTIME_RESOLVE_H_

#include "lci/api/resource.hpp"

namespace lci::rt {

struct target {
  runtime_impl_t* runtime;
  device_impl_t* device;
};

// What the options `runtime` and `device` mean: a given device brings its runtime; otherwise the
// given or global runtime, and its default device. Throws std::logic_error if there is none,
// std::invalid_argument if the two do not belong together.
runtime_impl_t* resolve(runtime_t runtime);
target resolve(runtime_t runtime, device_t device);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_RESOLVE_H_
