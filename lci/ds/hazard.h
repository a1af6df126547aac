// Use of things that their owner may close, without a locked instruction.
#ifndef LCI_DS_HAZARD_H_
#define LCI_DS_HAZARD_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/atomics.h"

namespace lci::ds {

// The thing's side: whether anybody has used the thing since it was closed last. So a thing that
// nobody has used costs no process_barrier() to close.
//
// Thread safety: must_wait() by one thread at a time.
template <class Atomics>
class basic_hazard_mark {
 public:
  // Returns whether the thread that has closed the thing must wait for each hazard that
  // protects() it. Has a process_barrier() then.
  bool must_wait() {
    if (is_used_.exchange(0, std::memory_order_acq_rel) == 0) return false;  // M2
    if (Atomics::has_process_barrier()) Atomics::process_barrier();          // C
    return true;
  }

 private:
  template <class>
  friend class basic_hazard;

  typename Atomics::template atomic<uint8_t> is_used_{0};
};

// The side of a user, which announces the thing before it looks whether the thing is open. After
// M. Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects" (2004). Where there
// is no process_barrier(), each use executes a locked instruction.
//
// Thread safety: one thread at a time, wait-free; protects() by any thread.
//
// Invariant: if a use finds the thing open, and the owner closes the thing, calls must_wait(), and
// if that is true calls protects() until that returns false, everything that the use does is
// visible to the owner.
// Memory orders
//   M1 -> M2  The first user after a close sets the mark, and an owner that closes resets it. The
//             owner sees the mark, and with it the announcement; or the user, and each one that
//             only sees this user's mark, sees that the thing is closed.
//   C         Another user announces the thing, has a light_barrier, and looks whether it is open;
//             the owner closes it, has a process_barrier, and looks for the announcement. One of
//             them sees the other's write.
//   D1 -> D2  The end of the use (release) comes before the owner continues (acquire).
template <class Atomics>
class basic_hazard {
 public:
  // While it lives, the calling thread may look whether the thing is open, and use the thing if it
  // is. `thing`: a number that each thing has for itself, less than UINT32_MAX.
  class use {
   public:
    [[gnu::always_inline]] use(basic_hazard& user, uint32_t thing, basic_hazard_mark<Atomics>& mark)
        : user_(user) {
      user_.thing_.store(thing + 1, std::memory_order_relaxed);
      Atomics::light_barrier();  // C
      const bool is_marked =
          user_.has_process_barrier_ && mark.is_used_.load(std::memory_order_acquire) != 0;
      if (__builtin_expect(!is_marked, 0)) {
        mark.is_used_.exchange(1, std::memory_order_acq_rel);  // M1
        user_.has_process_barrier_ = Atomics::has_process_barrier();
      }
    }
    [[gnu::always_inline]] ~use() { user_.thing_.store(0, std::memory_order_release); }  // D1
    use(const use&) = delete;
    use& operator=(const use&) = delete;

   private:
    basic_hazard& user_;
  };

  bool protects(uint32_t thing) const {
    return thing_.load(std::memory_order_acquire) == thing + 1;  // D2
  }

 private:
  typename Atomics::template atomic<uint32_t> thing_{0};
  // Belongs to the user. Not before its first use, as the first call for it takes long.
  bool has_process_barrier_ = false;
};

using hazard_mark = basic_hazard_mark<std_atomics>;
using hazard = basic_hazard<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_HAZARD_H_
