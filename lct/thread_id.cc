#include <atomic>

#include "lct/lct.h"

namespace {

std::atomic<int> threads{0};
thread_local int this_thread = -1;

}  // namespace

int LCT_get_thread_id() {
  if (LCT_unlikely(this_thread == -1)) {
    this_thread = threads.fetch_add(1, std::memory_order_relaxed);
  }
  return this_thread;
}

int LCT_get_nthreads() { return threads.load(std::memory_order_relaxed); }
