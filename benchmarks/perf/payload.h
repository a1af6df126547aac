// What messages consist of when they are to be checked.
#ifndef BENCHMARKS_PERF_PAYLOAD_H_
#define BENCHMARKS_PERF_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace perf {

// Who made the bytes, and for which message. Two different ones have different bytes.
struct payload_key {
  uint64_t seed;
  int rank;
  int thread;
  uint64_t number;
};

// A message is not what was sent. The text names rank, size, and the first wrong byte.
class payload_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void fill_payload(const payload_key& key, void* buffer, size_t size);
// Throws payload_error.
void check_payload(const payload_key& key, const void* buffer, size_t size);

// Reads every byte, so that the bytes have come to this processor when it returns.
void read_payload(const void* buffer, size_t size);

}  // namespace perf

#endif  // BENCHMARKS_PERF_PAYLOAD_H_
