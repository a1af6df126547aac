// Reference results and the fixture of the tests of collective operations.
#ifndef LCI_TESTING_RANKS_COLLECTIVES_H_
#define LCI_TESTING_RANKS_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/affine/affine.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {

inline affine item(int rank, size_t i) {
  return {static_cast<uint32_t>(2 * (static_cast<size_t>(rank) + i) + 1),
          static_cast<uint32_t>(7 * i + static_cast<size_t>(rank))};
}
inline std::vector<affine> items_of(int rank, size_t count) {
  std::vector<affine> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = item(rank, i);
  return items;
}
inline affine reduced(int ranks, size_t i) {
  affine all = item(0, i);
  for (int r = 1; r < ranks; ++r) {
    const affine next = item(r, i);
    compose(&all, &next, &all, 1);
  }
  return all;
}
inline std::vector<affine> all_reduced(int ranks, size_t count) {
  std::vector<affine> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = reduced(ranks, i);
  return items;
}

class Collectives : public rank_test {
 protected:
  // Runs body(runtime, call) twice: call(op) carries out op with a blocking call, and with a
  // completion object. Over the simulated network the seed chooses one of them.
  template <class Body>
  void run(const Body& body) {
    const bool first = !simulated() || seed_choice(2, 2) == 0;
    const bool second = !simulated() || !first;
    run_job(ranks(), [&](runtime_t runtime) {
      if (first) body(runtime, [runtime](auto op) { op.runtime(runtime)(); });
      if (!second) return;
      comp_t sync = alloc_sync_x().runtime(runtime)();
      body(runtime, [runtime, sync](auto op) {
        op.runtime(runtime).comp(sync)();
        status_t status;
        sync_wait_x(sync, &status).runtime(runtime)();
        EXPECT_TRUE(status.is_done());
      });
      free_comp_x{&sync}.runtime(runtime)();
    });
  }
};

}  // namespace lci

#endif  // LCI_TESTING_RANKS_COLLECTIVES_H_
