#ifndef LCI_DS_LOCK_TURNS_H_
#define LCI_DS_LOCK_TURNS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "lci/ds/atomics.h"

namespace lci::ds {

// Lets threads that use one lock all the time use it in turn, each for a while. Otherwise the lock
// and what it guards move to another processor for each use, which takes many times as long as the
// use itself. (Two threads that post 8 bytes each through one ring, on processors that are 200 ns
// apart: 5 million messages a second together, where one thread sends 25 million.)
//
// A lock is contended once it has changed hands often in a row, each time soon. Then a thread keeps
// it for a turn, as long as it uses it all the time. Other threads do not even look at the lock for
// a pause, which gets longer with each attempt in vain. A thread that uses the lock only now and
// then has no turn, and delays nobody.
//
// Thread safety: all members by any thread at any time; wait-free. begin_use only with the lock. The
// members are hints: nothing is wrong if a thread sees an old value.
//
// Clock has a function ticks(): about half a nanosecond each; it need not be exact.
template <class Clock>
class lock_turns {
 public:
  // Ticks.
  static constexpr uint64_t turn = 8192;
  static constexpr uint64_t soon = 4 * turn;
  // A thread that has not used the lock for so long does not use it all the time.
  static constexpr uint64_t active = 512;
  static constexpr uint64_t first_pause = 256;
  static constexpr uint64_t last_pause = 4096;
  // Changes of hands in a row that show contention.
  static constexpr uint32_t many_changes = 8;

  // Before an attempt to take the lock by the thread with the number `me`: whether it is to give up.
  bool must_wait(uint32_t me) {
    pause& mine = pause_of_thread();
    const uint64_t now = Clock::ticks();
    if (mine.of == this && now < mine.end) return true;
    if (!is_turn_of_another(me, now)) return false;
    mine.length = mine.of == this ? std::min(2 * mine.length, last_pause) : first_pause;
    mine.of = this;
    mine.end = now + mine.length;
    return true;
  }

  // The thread has taken the lock.
  void begin_use(uint32_t me) {
    const uint64_t now = Clock::ticks();
    if (user_.load(std::memory_order_relaxed) != me) {
      const bool is_soon = now - turn_begin_.load(std::memory_order_relaxed) < soon;
      const uint32_t changes = changes_.load(std::memory_order_relaxed);
      changes_.store(is_soon ? std::min(changes + 1, many_changes) : 0, std::memory_order_relaxed);
      user_.store(me, std::memory_order_relaxed);
      turn_begin_.store(now, std::memory_order_relaxed);
    }
    last_use_.store(now, std::memory_order_relaxed);
    pause& mine = pause_of_thread();
    if (mine.of == this) mine.of = nullptr;
  }

 private:
  struct pause {
    const void* of = nullptr;  // the object
    uint64_t end = 0;
    uint64_t length = 0;
  };

  bool is_turn_of_another(uint32_t me, uint64_t now) const {
    if (changes_.load(std::memory_order_relaxed) < many_changes) return false;
    if (user_.load(std::memory_order_relaxed) == me) return false;
    // Other processors' clocks may be a little behind: as signed numbers.
    const auto since = [now](const std::atomic<uint64_t>& then) {
      return static_cast<int64_t>(now - then.load(std::memory_order_relaxed));
    };
    return since(last_use_) < static_cast<int64_t>(active) &&
           since(turn_begin_) < static_cast<int64_t>(turn);
  }

  // A thread may wait for a few locks at a time: one for posts, one for polls. Two that share a
  // place only have shorter pauses.
  pause& pause_of_thread() const {
    constexpr uintptr_t places = 4;
    static thread_local pause pauses[places];
    return pauses[reinterpret_cast<uintptr_t>(this) / contention_distance % places];
  }

  std::atomic<uint32_t> user_{~uint32_t{0}};  // who took the lock last
  std::atomic<uint32_t> changes_{0};          // of user_ in a row, each soon
  std::atomic<uint64_t> turn_begin_{0};
  std::atomic<uint64_t> last_use_{0};
};

// The processor's counter, which costs little, where there is one.
struct processor_clock {
  static uint64_t ticks() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 2 * static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }
};

// For explorations, which have no time.
struct no_lock_turns {
  static bool must_wait(uint32_t /*me*/) { return false; }
  static void begin_use(uint32_t /*me*/) {}
};

template <class Atomics>
using lock_turns_of = std::conditional_t<std::is_same_v<Atomics, std_atomics>,
                                         lock_turns<processor_clock>, no_lock_turns>;

}  // namespace lci::ds

#endif  // LCI_DS_LOCK_TURNS_H_
