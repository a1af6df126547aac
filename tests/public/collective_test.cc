// Barrier, allgather and allreduce between processes, over several lives of the runtime.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

void maximum(const void* left, const void* right, void* dst, size_t n) {
  const auto* l = static_cast<const int64_t*>(left);
  const auto* r = static_cast<const int64_t*>(right);
  auto* d = static_cast<int64_t*>(dst);
  for (size_t i = 0; i < n; ++i) d[i] = std::max(l[i], r[i]);
}

void round(int life) {
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  for (size_t count : {size_t{1}, size_t{100}, size_t{200000}}) {
    std::vector<int64_t> mine(count);
    for (size_t i = 0; i < count; ++i) mine[i] = static_cast<int64_t>(i) * 10 + rank + life;
    std::vector<int64_t> all(count * static_cast<size_t>(ranks));
    lci::allgather(mine.data(), all.data(), count * sizeof(int64_t));
    for (int r = 0; r < ranks; ++r) {
      for (size_t i = 0; i < count; ++i) {
        EXPECT(all[static_cast<size_t>(r) * count + i] == static_cast<int64_t>(i) * 10 + r + life);
      }
    }
    std::vector<int64_t> largest(count);
    lci::allreduce(mine.data(), largest.data(), count, sizeof(int64_t), maximum);
    for (size_t i = 0; i < count; ++i) {
      EXPECT(largest[i] == static_cast<int64_t>(i) * 10 + ranks - 1 + life);
    }
    lci::barrier();
  }
}

void body() {
  for (int life = 0; life < 3; ++life) {
    lci::g_runtime_init();
    EXPECT(!lci::get_g_runtime().is_empty());
    round(life);
    // A second runtime beside the global one.
    lci::runtime_t other = lci::alloc_runtime_x().name("other")();
    lci::barrier_x().runtime(other)();
    lci::free_runtime(&other);
    EXPECT(other.is_empty());
    lci::g_runtime_fina();
    EXPECT(lci::get_g_runtime().is_empty());
  }
}

}  // namespace

int main() { return run_test(body); }
