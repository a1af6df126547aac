// Keeps parsed reads between the two passes, as far as there is memory for them.
#ifndef EXAMPLES_KMER_READ_CACHE_H_
#define EXAMPLES_KMER_READ_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "examples/kmer/packed_reads.h"

namespace kmer {

// keep() may be called by any thread; the rest when no thread is in keep().
class read_cache {
 public:
  explicit read_cache(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Keeps a copy of the reads of a unit, if there is room.
  void keep(size_t file, uint64_t number, const packed_reads& reads) {
    packed_reads copy = reads;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes_ + copy.bytes() > max_bytes_) return;
    bytes_ += copy.bytes();
    units_.push_back(std::move(copy));
    known_.emplace(file, number);
  }

  bool has(size_t file, uint64_t number) const { return known_.count({file, number}) != 0; }
  const std::vector<packed_reads>& units() const { return units_; }

 private:
  const uint64_t max_bytes_;
  std::mutex mutex_;
  uint64_t bytes_ = 0;
  std::vector<packed_reads> units_;
  std::set<std::pair<size_t, uint64_t>> known_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_READ_CACHE_H_
