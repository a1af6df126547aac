// Wakes a thread that sleeps on descriptors when another thread has left work for it.
#ifndef LCI_BASE_WAKEUP_H_
#define LCI_BASE_WAKEUP_H_

#include <atomic>

namespace lci::base {

// The sleeping thread calls arm(), looks for work once more, and sleeps (poll(2)) until
// descriptor() is readable. Other threads leave work and then call wake(). Either that last look
// finds the work, or the sleep ends: arm() and wake() exchange the same word, and the second of
// them sees everything that the first thread did before its exchange.
//
// Thread safety: wake and ring by any thread at any time, arm and disarm by one thread at a time.
// None blocks. arm makes a system call, ring makes one, and wake makes one only if a thread may
// sleep.
class wakeup {
 public:
  wakeup() = default;
  ~wakeup();
  wakeup(const wakeup&) = delete;
  wakeup& operator=(const wakeup&) = delete;

  // Must be called first; an object that is not open wakes no thread. Returns false, with errno
  // set, if the process has no descriptor left.
  bool open();
  // -1 if not open.
  int descriptor() const { return descriptor_; }

  void arm();
  // The thread no longer sleeps: it need not be woken.
  void disarm() { armed_.store(false, std::memory_order_relaxed); }
  // Needs no atomic exchange if a lock excludes arm and disarm.
  bool is_armed() const { return armed_.load(std::memory_order_relaxed); }
  void wake() {
    if (descriptor_ >= 0 && armed_.exchange(false, std::memory_order_acq_rel)) ring();
  }
  // Ends the next sleep, or the current one, unconditionally.
  void ring();

 private:
  int descriptor_ = -1;
  std::atomic<bool> armed_{false};
};

}  // namespace lci::base

#endif  // LCI_BASE_WAKEUP_H_
