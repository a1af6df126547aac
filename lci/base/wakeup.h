// Ends the sleep of a thread that waits for descriptors, when another has left work for it.
#ifndef LCI_BASE_WAKEUP_H_
#define LCI_BASE_WAKEUP_H_

#include <atomic>

namespace lci::base {

// One thread sleeps: it calls arm(), looks a last time whether there is work, and sleeps (poll(2))
// until descriptor() is readable. Others leave work and then call wake(). So either the last look
// finds the work, or the sleep ends: arm() and wake() exchange the same word, and whoever comes
// second sees what the first did before.
//
// Thread safety: wake and ring by any thread at any time, arm and disarm by one thread at a time.
// None blocks; arm makes a system call, ring one, and wake only where somebody may sleep.
class wakeup {
 public:
  wakeup() = default;
  ~wakeup();
  wakeup(const wakeup&) = delete;
  wakeup& operator=(const wakeup&) = delete;

  // Before anything else; one that is not open has nobody to wake. False, with errno, if the
  // process has no descriptor left.
  bool open();
  // -1: not open.
  int descriptor() const { return descriptor_; }

  void arm();
  // Nobody sleeps: nobody need be woken.
  void disarm() { armed_.store(false, std::memory_order_relaxed); }
  // May be said without an atomic exchange where a lock keeps arm and disarm away.
  bool is_armed() const { return armed_.load(std::memory_order_relaxed); }
  void wake() {
    if (descriptor_ >= 0 && armed_.exchange(false, std::memory_order_acq_rel)) ring();
  }
  // The next sleep, or that under way, ends in any case.
  void ring();

 private:
  int descriptor_ = -1;
  std::atomic<bool> armed_{false};
};

}  // namespace lci::base

#endif  // LCI_BASE_WAKEUP_H_
