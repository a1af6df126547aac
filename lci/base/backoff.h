// How to wait for another thread when there may be more threads than cores.
#ifndef LCI_BASE_BACKOFF_H_
#define LCI_BASE_BACKOFF_H_

#include <sched.h>

#include <chrono>

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

// Whether threads that could run wait for this thread's processor, as far as its last yield told:
// one that nobody else wanted the processor for is over in less than longest_alone.
class crowd {
 public:
  static constexpr std::chrono::nanoseconds longest_alone{1200};

  // Gives the processor to another thread, if one waits for it.
  static void yield() {
    const auto begin = std::chrono::steady_clock::now();
    sched_yield();
    found_ = std::chrono::steady_clock::now() - begin > longest_alone;
  }
  static bool found() { return found_; }

 private:
  static inline thread_local bool found_ = false;
};

// The policy of every wait loop: try, and when nothing moved, idle(); when something did, reset().
// idle() waits a little (`Pauses`: else it leaves that to the caller's next try), and every
// `Rounds` times it yields the processor; or nearly each time for as long as there is a crowd. With
// a thread a core the yields cost nothing that can be measured; with more, each round would be
// taken from the thread that is waited for. (Two pairs of threads on two cores, each waiting for
// another: messages a second twice as many as with yields after 100 rounds, latency 1.3 us, not 6.)
//
// Thread safety: an object belongs to one thread.
template <unsigned Rounds, bool Pauses>
class basic_backoff {
 public:
  static constexpr unsigned rounds_alone = Rounds;
  static constexpr unsigned rounds_in_crowd = 2;

  void idle() {
    if (rounds_ < (crowd::found() ? rounds_in_crowd : rounds_alone)) {
      ++rounds_;
      if (Pauses) cpu_pause();
    } else {
      crowd::yield();
      rounds_ = 0;
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
  unsigned rounds_ = 0;
  unsigned yields_ = 0;
};
using backoff = basic_backoff<64, true>;
// For tries that take some time, such as polls of a device.
using poll_backoff = basic_backoff<100, false>;

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
