#include "lci/coll/pipes.h"

#include <algorithm>
#include <utility>

namespace lci::coll {

size_t pipes::bytes() { return sizeof(header) + slots * piece_bytes; }

pipes::pipes(int rank, std::vector<char*> places) : rank_(rank), places_(std::move(places)) {}

uint64_t pipes::reserve(uint64_t pieces) {
  const uint64_t first = reserved_;
  reserved_ += pieces;
  return first;
}

int pipes::holder(uint64_t piece) {
  if (piece < all_taken_.load(std::memory_order_acquire) + slots) return -1;
  uint64_t least = ~uint64_t{0};
  for (size_t r = 0; r < places_.size(); ++r) {
    if (static_cast<int>(r) == rank_) continue;
    const uint64_t taken = of(static_cast<int>(r)).taken.load(std::memory_order_acquire);  // A2
    if (piece >= taken + slots) return static_cast<int>(r);
    least = std::min(least, taken);
  }
  all_taken_.store(least, std::memory_order_release);
  return -1;
}

}  // namespace lci::coll
