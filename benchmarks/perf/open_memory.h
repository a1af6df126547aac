#ifndef BENCHMARKS_PERF_OPEN_MEMORY_H_
#define BENCHMARKS_PERF_OPEN_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "benchmarks/perf/options.h"
#include "lci.hpp"

namespace perf {

// Memory that has been written to, and is open to puts and gets until it is destroyed.
class open_memory {
 public:
  // `size` is a multiple of `page`. Throws std::runtime_error.
  open_memory(memory_kind kind, size_t size, lci::runtime_t runtime, lci::device_t device);
  ~open_memory();
  open_memory(const open_memory&) = delete;
  open_memory& operator=(const open_memory&) = delete;

  static constexpr size_t page = 4096;
  // The 8 bytes that it has everywhere at first, as a number.
  static constexpr uint64_t initial_integer = 0x0101010101010101;

  char* data() const { return data_; }
  lci::mr_t mr() const { return mr_; }
  lci::rmr_t rmr() const { return rmr_; }

 private:
  const memory_kind kind_;
  const lci::runtime_t runtime_;
  char* data_ = nullptr;
  lci::mr_t mr_;
  lci::rmr_t rmr_;
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_OPEN_MEMORY_H_
