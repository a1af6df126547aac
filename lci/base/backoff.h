// How to wait for another thread when there may be more threads than cores.
#ifndef LCI_BASE_BACKOFF_H_
#define LCI_BASE_BACKOFF_H_

#include <sched.h>

namespace lci::base {

// Tells the processor that this is a waiting loop: it spends less power, and leaves the loop
// without a pipeline flush.
inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

// The policy of every wait loop: try, and when nothing moved, idle(); when something did, reset().
// The first rounds pause the processor; from then on each gives it to another thread, which may be
// the one that is waited for. With a thread a core the yields cost nothing that can be measured;
// with more, they cut the wait from a time slice (milliseconds) to a switch (microseconds).
//
// Thread safety: an object belongs to one thread.
class backoff {
 public:
  static constexpr unsigned pauses_before_yield = 64;

  void idle() {
    if (rounds_ < pauses_before_yield) {
      ++rounds_;
      cpu_pause();
    } else {
      sched_yield();
    }
  }

  void reset() { rounds_ = 0; }

  // Whether idle() now yields.
  bool yielding() const { return rounds_ >= pauses_before_yield; }

 private:
  unsigned rounds_ = 0;
};

}  // namespace lci::base

#endif  // LCI_BASE_BACKOFF_H_
