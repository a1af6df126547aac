// Remote atomics between processes, through the public interface: threads of every rank count in
// memory of every rank, and wait with completion objects.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

using lci::atomic_op_t;

uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// Memory of the library, which ranks of one host map, and the program's, which they may not.
void count_in(bool allocated) {
  constexpr size_t words = 8;
  constexpr uint64_t rounds = 500;
  constexpr uint64_t threads = 2;
  const int ranks = lci::get_rank_n();
  std::vector<uint64_t> own(allocated ? 0 : words);
  lci::mr_t mr = allocated ? lci::alloc_mr(words * 8) : lci::register_memory(own.data(), words * 8);
  const auto* const counters = static_cast<uint64_t*>(lci::get_mr_address(mr));
  const lci::rmr_t mine = lci::get_rmr(mr);
  std::vector<lci::rmr_t> all(static_cast<size_t>(ranks));
  lci::allgather(&mine, all.data(), sizeof(mine));

  std::vector<std::thread> workers;
  for (uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&all, ranks] {
      uint64_t last = 0;
      for (uint64_t i = 0; i < rounds; ++i) {
        for (int r = 0; r < ranks; ++r) {
          const lci::rmr_t& theirs = all[static_cast<size_t>(r)];
          uint64_t former = 0;
          EXPECT(
              lci::post_fetch_atomic(r, atomic_op_t::add, 1, &former, 8, lci::COMP_NULL, 0, theirs)
                  .is_done());
          EXPECT(r != 0 || i == 0 || former > last);
          if (r == 0) last = former;
          // The upper half of the second word.
          EXPECT(lci::post_atomic(r, atomic_op_t::add, 2, 4, lci::COMP_NULL, 12, theirs).is_done());
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  lci::barrier();
  const uint64_t total = static_cast<uint64_t>(ranks) * threads * rounds;
  EXPECT(load(&counters[0]) == total);
  EXPECT(load(&counters[1]) == (2 * total) << 32);

  // A compare-and-swap: one rank wins.
  uint64_t former = 0;
  EXPECT(lci::post_compare_swap(0, 0, static_cast<uint64_t>(lci::get_rank_me()) + 1, &former, 8,
                                lci::COMP_NULL, 16, all[0])
             .is_done());
  uint64_t has_won = former == 0 ? 1 : 0;
  uint64_t winners = 0;
  lci::allreduce(&has_won, &winners, 1, sizeof(winners), lci::reduce_sum<uint64_t>);
  EXPECT(winners == 1);
  lci::barrier();

  // The target has a signal that counts one notification of every rank.
  lci::comp_t arrived = lci::alloc_signal(ranks);
  const lci::rcomp_t arrived_name = lci::register_rcomp(arrived);
  lci::barrier();
  for (int r = 0; r < ranks; ++r) {
    EXPECT(lci::post_atomic_x(r, atomic_op_t::bit_or, uint64_t{1} << lci::get_rank_me(), 8,
                              lci::COMP_NULL, 24, all[static_cast<size_t>(r)])
               .remote_comp(arrived_name)()
               .is_done());
  }
  lci::signal_wait(arrived);
  EXPECT(load(&counters[3]) == (uint64_t{1} << ranks) - 1);
  EXPECT_THROW(
      static_cast<void>(lci::post_atomic(0, atomic_op_t::add, 1, 8, lci::COMP_NULL, 4, all[0])),
      std::invalid_argument);
  lci::barrier();
  lci::deregister_rcomp(arrived_name);
  lci::free_comp(&arrived);
  if (allocated) {
    lci::free_mr(&mr);
  } else {
    lci::deregister_memory(&mr);
  }
  lci::barrier();
  EXPECT_THROW(
      static_cast<void>(lci::post_atomic(0, atomic_op_t::add, 1, 8, lci::COMP_NULL, 0, all[0])),
      std::runtime_error);
  lci::barrier();
}

}  // namespace

int main() {
  return run_test([] {
    lci::g_runtime_init();
    count_in(/*allocated=*/true);
    count_in(/*allocated=*/false);
    lci::g_runtime_fina();
  });
}
