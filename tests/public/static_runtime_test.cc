// The destructor of a static object ends the runtime, when the thread-local objects of the main
// thread are destroyed.

#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

// The results are divided among the ranks, and are too large for the stack.
void reduce() {
  const std::vector<int> summands(50000, lci::get_rank_me());
  std::vector<int> sums(summands.size(), -1);
  lci::allreduce(summands.data(), sums.data(), sums.size(), sizeof(int), lci::reduce_sum<int>);
  const int ranks = lci::get_rank_n();
  for (const int sum : sums) EXPECT(sum == ranks * (ranks - 1) / 2);
}

class session {
 public:
  session() = default;
  ~session() {
    if (!begun_) return;
    for (int i = 0; i < 100; ++i) lci::barrier();
    reduce();
    lci::g_runtime_fina();
  }
  void begin() {
    lci::g_runtime_init();
    begun_ = true;
    lci::barrier();
    reduce();
  }

 private:
  bool begun_ = false;
};

session of_program;

}  // namespace

int main() {
  return run_test([] { of_program.begin(); });
}
