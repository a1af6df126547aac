#include <atomic>
#include <cstdint>

#include "lci/base/backoff.h"
#include "lct/lct.h"

namespace {

// Thread safety: any number of threads; `threads` of them arrive for each pass.
//
// Invariants
//   1. Ticket t belongs to the threads that arrived before pass t of the barrier, counted from 0.
//   2. Between two passes, each of the `threads` arrivals counts once in arrived_.
// Orders
//   A1, the release half of an arrival, pairs with A2, the acquire half of the last arrival, and
//       B1, the release of the last arrival's pass, with B2, the acquire of the test: everything
//       that a thread wrote before it arrived is visible after the pass. B also makes arrived_ = 0
//       visible to the threads that arrive next.
class thread_barrier {
 public:
  explicit thread_barrier(int threads) : threads_(threads) {}

  int64_t arrive() {
    const int64_t ticket = passes_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {  // A1, A2
      arrived_.store(0, std::memory_order_relaxed);
      passes_.store(ticket + 1, std::memory_order_release);  // B1
    }
    return ticket;
  }

  bool test(int64_t ticket) const {
    return passes_.load(std::memory_order_acquire) != ticket;  // B2
  }

  void wait(int64_t ticket) const {
    lci::base::backoff patience;
    while (!test(ticket)) patience.idle();
  }

 private:
  const int threads_;
  alignas(LCT_CACHE_LINE) std::atomic<int> arrived_{0};
  alignas(LCT_CACHE_LINE) std::atomic<int64_t> passes_{0};
};

thread_barrier& barrier_of(LCT_tbarrier_t tbarrier) {
  LCT_Assert(LCT_log_ctx_default, tbarrier != nullptr, "the thread barrier is null\n");
  return *static_cast<thread_barrier*>(tbarrier);
}

}  // namespace

LCT_tbarrier_t LCT_tbarrier_alloc(int nthreads) {
  LCT_Assert(LCT_log_ctx_default, nthreads > 0,
             "nthreads is %d; a barrier is for at least 1 thread\n", nthreads);
  return new thread_barrier(nthreads);
}

void LCT_tbarrier_free(LCT_tbarrier_t* tbarrier_p) {
  if (tbarrier_p == nullptr || *tbarrier_p == nullptr) {
    LCT_Warn(LCT_log_ctx_default, "the thread barrier to be freed is null\n");
    return;
  }
  delete static_cast<thread_barrier*>(*tbarrier_p);
  *tbarrier_p = nullptr;
}

int64_t LCT_tbarrier_arrive(LCT_tbarrier_t tbarrier) { return barrier_of(tbarrier).arrive(); }

bool LCT_tbarrier_test(LCT_tbarrier_t tbarrier, int64_t ticket) {
  return barrier_of(tbarrier).test(ticket);
}

void LCT_tbarrier_wait(LCT_tbarrier_t tbarrier, int64_t ticket) {
  barrier_of(tbarrier).wait(ticket);
}

void LCT_tbarrier_arrive_and_wait(LCT_tbarrier_t tbarrier) {
  thread_barrier& barrier = barrier_of(tbarrier);
  barrier.wait(barrier.arrive());
}
