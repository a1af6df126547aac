// Tests that hold at every support level of signals.
#ifndef LCI_TESTING_RANKS_SIGNAL_LEVELS_H_
#define LCI_TESTING_RANKS_SIGNAL_LEVELS_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/ranks.h"

namespace lci {

// The level is forced, or -1.
class level_test : public testing::TestWithParam<int> {
 protected:
  static global_attr_t level() {
    global_attr_t defaults;
    defaults.signal_level = GetParam();
    return defaults;
  }
  // Runs body with 1 to `most` ranks or, over the simulated network, with the number that the seed
  // chooses.
  static void run_levels(int most, const std::function<void(rank_under_test&)>& body,
                         const runtime_attr_t& attr = runtime_attr_t()) {
    if (simulated()) {
      run(1 + static_cast<int>(seed_choice(2, static_cast<size_t>(most))), body, level(), attr);
      return;
    }
    for (int ranks = 1; ranks <= most; ++ranks) run(ranks, body, level(), attr);
  }
};

inline std::string name_of_level(const testing::TestParamInfo<int>& param) {
  return param.param < 0 ? std::string("Best") : "Level" + std::to_string(param.param);
}

inline auto all_levels() { return testing::Range(-1, 5); }

// Returns the block of every rank. Blocks are sent as bytes. Collective.
inline std::vector<block_t> exchange(const rank_under_test& self, const block_t& own) {
  std::vector<block_t> all(static_cast<size_t>(self.ranks));
  allgather_x(&own, all.data(), sizeof(own)).runtime(self.runtime)();
  return all;
}

struct open_memory {
  open_memory(const rank_under_test& self, size_t size)
      : runtime(self.runtime),
        bytes(size, 0),
        mr(register_memory_x(bytes.data(), size).runtime(runtime)()) {}
  ~open_memory() {
    if (!mr.is_empty()) deregister_memory_x{&mr}.runtime(runtime)();
  }
  bool holds(size_t offset, const std::vector<unsigned char>& expected) const {
    return std::equal(expected.begin(), expected.end(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void set(size_t offset, const std::vector<unsigned char>& to) {
    std::copy(to.begin(), to.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  const runtime_t runtime;
  std::vector<unsigned char> bytes;
  mr_t mr;
};

struct signal_of {
  signal_of(const rank_under_test& self, int64_t events, const char* name = "test")
      : runtime(self.runtime), comp(alloc_signal_x(events).runtime(runtime).name(name)()) {}
  ~signal_of() {
    if (!comp.is_empty()) free_comp_x{&comp}.runtime(runtime)();
  }
  void wait() const { signal_wait_x(comp).runtime(runtime)(); }
  void reset() const { signal_reset_x(comp).runtime(runtime)(); }
  bool test() const { return signal_test_x(comp).runtime(runtime)(); }

  const runtime_t runtime;
  comp_t comp;
};

}  // namespace lci

#endif  // LCI_TESTING_RANKS_SIGNAL_LEVELS_H_
