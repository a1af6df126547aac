// How to wait for another thread when there may be more threads than cores.
#ifndef LCI_BASE_BACKOFF_H_
#define LCI_BASE_BACKOFF_H_

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

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

// What this thread knows of threads that could run and wait for its processor.
class crowd {
 public:
  static constexpr std::chrono::nanoseconds longest_alone{1200};

  // Gives the processor to another thread, if one waits for it: whether one did, found() says. A
  // yield that nobody else wanted the processor for is over in less than longest_alone. Returns how
  // long it took.
  static std::chrono::nanoseconds yield() {
    const auto begin = std::chrono::steady_clock::now();
    sched_yield();
    const auto took = std::chrono::steady_clock::now() - begin;
    found_ = took > longest_alone;
    idled_ = 0;
    return took;
  }
  static bool found() { return found_; }

  // Counts a round that this thread has waited; how many since its last yield, in all its waits.
  static unsigned count_idle_round() { return ++idled_; }

  // Below `end`; each thread has a sequence of its own.
  static unsigned random(unsigned end) {
    random_ = random_ * 1664525u + 1013904223u;
    return (random_ >> 16) % end;
  }

 private:
  static unsigned seed() {
    // Where the thread's variables are differs between threads, and mostly between processes.
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(&idled_) >> 4) * 2654435761u ^
           static_cast<unsigned>(getpid());
  }

  static inline thread_local bool found_ = false;
  static inline thread_local unsigned idled_ = 0;
  static inline thread_local unsigned random_ = seed();
};

// The policy of a loop that waits for another thread: try, and when nothing moved, idle(); when
// something did, reset(). idle() pauses, and yields the processor after every rounds_alone rounds,
// which costs nothing that can be measured with nobody else there. (Loops that poll a device:
// poll_backoff.)
//
// In a crowd it yields earlier, after a time in which an answer that is under way arrives: two
// threads that answer each other without delay do so for a while, and then two others. The number
// of rounds is random, since threads that wait for the same time would swap their processors at the
// same moment for ever, each with another partner than it waits for. And it yields after
// most_idle_rounds of all waits since the last yield, so that nobody waits long for the processor.
// (Two pairs of threads on two processors: mean latency 0.65 to 0.85 us; with a yield after two
// rounds 2.1 to 2.2.)
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

  // How often idle() has yielded since the last reset.
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
  unsigned rounds_in_crowd_ = 0;  // 0: not chosen yet
  unsigned yields_ = 0;
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
