#ifndef LCI_NET_SHM_COPY_COST_H_
#define LCI_NET_SHM_COPY_COST_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lci::net::shm {

// What a byte costs that is copied or read in one way: the mean of the last few measurements.
//
// Thread safety: one thread at a time.
class copy_cost {
 public:
  // `size` bytes, at least 1, took so long. It is too long if the thread lost its processor meanwhile,
  // so no time counts as more than the double of the cost.
  void took(size_t size, std::chrono::nanoseconds time) {
    const int64_t picoseconds = std::clamp<int64_t>(time.count(), 1, longest) * 1000;
    const auto now = static_cast<uint32_t>(static_cast<uint64_t>(picoseconds) / size + 1);
    per_byte_ = per_byte_ == 0 ? now : (3 * per_byte_ + std::min(now, 2 * per_byte_) + 2) / 4;
  }

  // Picoseconds a byte; 0: not known.
  uint32_t per_byte() const { return per_byte_; }

 private:
  static constexpr int64_t longest = 100'000;  // ns; in ps, its sixfold is a uint32_t

  uint32_t per_byte_ = 0;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_COPY_COST_H_
