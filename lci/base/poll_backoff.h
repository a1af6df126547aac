// When a thread that polls devices gives its processor to other threads.
#ifndef LCI_BASE_POLL_BACKOFF_H_
#define LCI_BASE_POLL_BACKOFF_H_

#include <cstdint>

#include "lci/base/backoff.h"

namespace lci::base {

// Counts the polls of one thread, of all its devices, and says when to yield the processor: after
// polls_alone polls in a row that found nothing. In a crowd (see backoff) it says so earlier: after
// a random number of such polls, or after most_polls_between_yields in vain of many short waits.
//
// A thread may poll several devices in turn, of which only some have work. It is not told to yield
// while any of them moves: the last polls before a yield are one of each device, in vain.
//
// Thread safety: an object belongs to one thread.
class poll_backoff {
 public:
  static constexpr uint32_t polls_alone = 100;
  static constexpr uint32_t least_polls_in_crowd = polls_alone / 4;
  static constexpr uint32_t most_polls_in_crowd = polls_alone / 2;
  static constexpr uint32_t most_polls_between_yields = polls_alone * 10;
  // A device that has not come again after so many other polls is not waited for.
  static constexpr uint32_t most_polls_a_round = 1024;

  // A poll of `device`, an address that tells it from others, found nothing. True if the thread is
  // to yield now, and to call yielded() then. (A few instructions, since each poll has them.)
  bool idle(const void* device) {
    ++polls_;
    if (__builtin_expect(polls_ - last_move_ < limit_ && polls_ < most_polls_, 1)) return false;
    return round_is_over(device);
  }

  // Something moved.
  void reset() { last_move_ = polls_; }

  // in_crowd: another thread took the processor.
  void yielded(bool in_crowd) {
    polls_ = last_move_ = 0;
    round_device_ = nullptr;
    ++yields_;
    limit_ = polls_alone;
    most_polls_ = ~uint32_t{0};
    if (!in_crowd) return;
    limit_ = least_polls_in_crowd + crowd::random(most_polls_in_crowd - least_polls_in_crowd + 1);
    most_polls_ = most_polls_between_yields;
  }

  // idle(), with the yield.
  void idle_or_yield(const void* device) {
    if (__builtin_expect(idle(device), 0)) yield();
  }
  [[gnu::noinline]] void yield() {
    crowd::yield();
    yielded(crowd::found());
  }

  // How often the thread has yielded, in all.
  uint32_t yields() const { return yields_; }

 private:
  // Whether each device has been polled in vain since the last move. Beyond the limit the first
  // device polled begins a round, which is over when that device comes again.
  [[gnu::noinline]] bool round_is_over(const void* device) {
    if (round_device_ == nullptr || round_begin_ <= last_move_) {
      round_device_ = device;
      round_begin_ = polls_;
      return false;
    }
    return device == round_device_ || polls_ - round_begin_ >= most_polls_a_round;
  }

  uint32_t polls_ = 0;                  // in vain, since the last yield
  uint32_t last_move_ = 0;              // polls_ when something moved last
  uint32_t limit_ = polls_alone;        // of polls_ since the last move
  uint32_t most_polls_ = ~uint32_t{0};  // of polls_
  uint32_t yields_ = 0;
  uint32_t round_begin_ = 0;            // polls_ with the poll that the round began with
  const void* round_device_ = nullptr;  // of that poll; null: none since the last yield
};

}  // namespace lci::base

#endif  // LCI_BASE_POLL_BACKOFF_H_
