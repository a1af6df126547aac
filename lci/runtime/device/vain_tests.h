#ifndef LCI_RUNTIME_DEVICE_VAIN_TESTS_H_
#define LCI_RUNTIME_DEVICE_VAIN_TESTS_H_

#include <atomic>
#include <cstdint>

#include "lci/base/poll_backoff.h"
#include "lci/runtime/device/poll.h"

namespace lci::rt {

// The tests by a thread: whether a completion object has something, or a post is accepted.
//
// A thread that tests in a loop and polls no device relies on another thread for progress, which may
// need its processor. After many tests in vain, the thread gives the processor to others that wait
// for it, by the rules of base::poll_backoff. The tests of a thread that polls devices as well do
// not count: its polls do.
//
// Most tests cost two instructions: they are counted together.
//
// Thread safety: an object belongs to one thread; allow_yields() by any thread at any time.
class vain_tests {
 public:
  // A test found nothing.
  void add() {
    if (__builtin_expect(--left_ == 0, 0)) count(/*takes_long=*/false);
  }
  // A post was refused. It may take long by itself, so the time since the last test does not show
  // that the thread works in between. Returns true once in many times.
  bool add_refused() {
    if (--left_ != 0) return false;
    count(/*takes_long=*/true);
    return true;
  }
  // A test found something.
  void found() {
    if (__builtin_expect(relies_, 0)) count_found();
  }
  void add(bool has_found) { has_found ? found() : add(); }

  // The counter at this address has this value: in vain if the thread has just read the same.
  void add_value(const void* counter, int64_t value) {
    if (counter == counter_ && value == value_) return add();
    counter_ = counter;
    value_ = value;
    found();
  }

  // Whether threads yield here at all: the default of the attribute progress_yield.
  static void allow_yields(bool allowed) { may_yield_.store(allowed, std::memory_order_relaxed); }

  // Total number of these yields of the thread.
  uint32_t yields() const { return backoff_.yields(); }

 private:
  void count(bool takes_long);
  void count_found();
  void yield();
  void count_anew() { counted_ = left_ = backoff_.polls_left(); }

  uint32_t left_ = base::poll_backoff::polls_alone;     // tests in vain up to the next count()
  uint32_t counted_ = base::poll_backoff::polls_alone;  // those of the next count()
  bool relies_ = false;  // the thread had polled no device at the last count()
  uint32_t polls_ = 0;   // activity of its polls at that time
  base::poll_backoff backoff_;
  base::poll_backoff::time_point last_;  // time of the last test for which the backoff needs it
  // The counter read last.
  const void* counter_ = nullptr;
  int64_t value_ = 0;

  static inline std::atomic<bool> may_yield_{true};
};

struct thread_tests {
  static inline thread_local vain_tests own;
};

// A test of this thread found something. Another thread's poll may have brought it, so it counts as
// one of this thread's polls that found something, too.
inline void note_found() {
  thread_polls::own.found();
  thread_tests::own.found();
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_VAIN_TESTS_H_
