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

// The policy after a lost race: another thread has just changed what this one was about to change,
// so that both want the same cache lines at once. Each lost() pauses for twice as long as the one
// before, up to some ten microseconds. Standing back for the time of many operations, not of one,
// lets the winner make them with the lines in its cache; threads that take turns with each
// operation spend nearly all their time moving the lines. (Two threads that push to and pop from
// one queue make four to ten times as many operations a second as with one pause a race.) Never
// yields: what it waits for is time, not another thread.
//
// Thread safety: an object belongs to one thread, for one operation.
class exponential_backoff {
 public:
  void lost() {
    for (unsigned i = 0; i < pauses_; ++i) cpu_pause();
    if (pauses_ < most_pauses) pauses_ *= 2;
  }

 private:
  static constexpr unsigned most_pauses = 256;
  unsigned pauses_ = 8;
};

}  // namespace lci::base

#endif  // LCI_BASE_BACKOFF_H_
