// Policies for waiting for another thread when there may be more threads than cores.
#ifndef LCI_BASE_BACKOFF_H_
#define LCI_BASE_BACKOFF_H_

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace lci::base {

// Hints to the processor that this is a wait loop: the loop uses less power and ends without a
// pipeline flush.
inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

// This thread's knowledge of other runnable threads that wait for its processor.
class crowd {
 public:
  static constexpr std::chrono::nanoseconds longest_alone{1200};

  // Yields the processor to another thread, if one waits for it; found() then returns whether one
  // did. A yield without another waiting thread takes less than longest_alone. Returns the duration
  // of the yield.
  static std::chrono::nanoseconds yield() {
    const auto begin = std::chrono::steady_clock::now();
    sched_yield();
    const auto took = std::chrono::steady_clock::now() - begin;
    found_ = took > longest_alone;
    idled_ = 0;
    return took;
  }
  static bool found() { return found_; }

  // Counts one wait round of this thread. Returns the number of rounds since its last yield, over
  // all its waits.
  static unsigned count_idle_round() { return ++idled_; }

  // Returns a number below `end`. Each thread has its own sequence.
  static unsigned random(unsigned end) {
    random_ = random_ * 1664525u + 1013904223u;
    return (random_ >> 16) % end;
  }

 private:
  static unsigned seed() {
    // The address of the thread's variables differs between threads, and mostly between processes.
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(&idled_) >> 4) * 2654435761u ^
           static_cast<unsigned>(getpid());
  }

  static inline thread_local bool found_ = false;
  static inline thread_local unsigned idled_ = 0;
  static inline thread_local unsigned random_ = seed();
};

// Policy of a loop that waits for another thread: try, and call idle() if nothing moved, or reset()
// if something did. idle() pauses, and yields the processor after every rounds_alone rounds;
// without other threads on the processor the cost of a yield is too small to measure. (Loops that
// poll a device use poll_backoff.)
//
// In a crowd, idle() yields earlier, after a time in which an answer that is on its way arrives:
// two threads that answer each other without delay continue for a while, then two others. The
// number of rounds is random, as threads with equal waits would swap their processors in step for
// ever, each running together with a thread other than its partner. idle() also yields after
// most_idle_rounds of all waits since the last yield, so that no thread waits long for the
// processor. (Two pairs of threads on two processors: mean latency 0.65 to 0.85 us; with a yield
// after two rounds 2.1 to 2.2.)
//
// Thread safety: an object belongs to one thread.
class backoff {
 public:
  static constexpr unsigned rounds_alone = 64;
  static constexpr unsigned least_rounds_in_crowd = rounds_alone / 4;
  static constexpr unsigned most_rounds_in_crowd = rounds_alone / 2;
  static constexpr unsigned most_idle_rounds = rounds_alone * 10;

  void idle() {
    if (may_go_on()) {
      ++rounds_;
      cpu_pause();
    } else {
      crowd::yield();
      rounds_ = 0;
      rounds_in_crowd_ = 0;
      ++yields_;
    }
  }

  void reset() {
    rounds_ = 0;
    yields_ = 0;
  }

  // Number of yields in idle() since the last reset.
  unsigned yields() const { return yields_; }

 private:
  bool may_go_on() {
    if (!crowd::found()) return rounds_ < rounds_alone;
    if (rounds_in_crowd_ == 0) {
      rounds_in_crowd_ =
          least_rounds_in_crowd + crowd::random(most_rounds_in_crowd - least_rounds_in_crowd + 1);
    }
    return rounds_ < rounds_in_crowd_ && crowd::count_idle_round() < most_idle_rounds;
  }

  unsigned rounds_ = 0;
  unsigned rounds_in_crowd_ = 0;  // 0: not yet chosen
  unsigned yields_ = 0;
};

// Policy after a lost race: another thread has just changed the data that this thread was about to
// change, so that both compete for the same cache lines. Each lost() pauses for twice as long as
// the previous one, up to about ten microseconds. A pause as long as many operations lets the
// winner perform them with the lines in its cache; threads that alternate with each operation spend
// nearly all their time moving the lines. (Two threads that push to and pop from one queue perform
// four to ten times as many operations per second as with one pause per race.) Never yields, as
// time passes without the help of another thread.
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
