// The packet pool: every thread takes an element and gives it back.
#include "lci/ds/stealing_pool.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "benchmarks/ds/probe.h"
#include "lci/base/thread_number.h"

namespace lci::ds {
namespace {

struct alignas(64) element {
  uint32_t owner = 0;
};
struct owner_of {
  uint32_t operator()(const element& e) const { return e.owner; }
};
using pool_type = stealing_pool<element, owner_of>;

// All belong to the first thread: the others have to steal theirs.
struct filled_pool {
  static constexpr size_t count = 8192;
  filled_pool() {
    pool.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      elements[i].owner = base::thread_number();
      pool.put(&elements[i]);
    }
  }
  std::unique_ptr<element[]> elements{new element[count]};
  pool_type pool{4096};
};

void GetPut(benchmark::State& state) {
  const shared_object<filled_pool> shared(state, [] { return std::make_unique<filled_pool>(); });
  int64_t gotten = 0;
  for (auto _ : state) {
    pool_type& pool = shared.get().pool;
    element* e = pool.get();
    if (e == nullptr) continue;
    benchmark::DoNotOptimize(e);
    pool.put(e);
    ++gotten;
  }
  state.SetItemsProcessed(gotten);
}
BENCHMARK(GetPut)->Apply(with_threads);

// More at a time than a magazine holds: they go through the deque.
void GetPutMany(benchmark::State& state) {
  const shared_object<filled_pool> shared(state, [] { return std::make_unique<filled_pool>(); });
  std::vector<element*> held(4 * pool_type::magazine, nullptr);
  int64_t gotten = 0;
  for (auto _ : state) {
    pool_type& pool = shared.get().pool;
    for (element*& e : held) e = pool.get();
    for (element* e : held) {
      if (e == nullptr) continue;
      pool.put(e);
      ++gotten;
    }
  }
  state.SetItemsProcessed(gotten);
}
BENCHMARK(GetPutMany)->Apply(with_threads);

}  // namespace
}  // namespace lci::ds
