#include "benchmarks/perf/open_memory.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace perf {

open_memory::open_memory(memory_kind kind, size_t size, lci::runtime_t runtime,
                         lci::device_t device)
    : kind_(kind), runtime_(runtime) {
  if (kind == memory_kind::allocated) {
    mr_ = lci::alloc_mr_x(size).runtime(runtime).device(device)();
    data_ = static_cast<char*>(lci::get_mr_address_x(mr_).runtime(runtime)());
  } else {
    data_ = static_cast<char*>(std::aligned_alloc(page, size));
    if (data_ == nullptr) {
      throw std::runtime_error(absl::StrCat("no memory for buffers of ", size,
                                            " bytes a thread: use a smaller --size or --window"));
    }
    mr_ = lci::register_memory_x(data_, size).runtime(runtime).device(device)();
  }
  std::memset(data_, 1, size);
  rmr_ = lci::get_rmr_x(mr_).runtime(runtime)();
}

open_memory::~open_memory() {
  if (kind_ == memory_kind::allocated) {
    lci::free_mr_x(&mr_).runtime(runtime_)();
  } else {
    lci::deregister_memory_x(&mr_).runtime(runtime_)();
    std::free(data_);
  }
}

}  // namespace perf
