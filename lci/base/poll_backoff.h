// Decides when a thread that polls devices yields its processor to other threads.
#ifndef LCI_BASE_POLL_BACKOFF_H_
#define LCI_BASE_POLL_BACKOFF_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "lci/base/backoff.h"

namespace lci::base {

// Counts the polls of one thread over all its devices, and decides when to yield the processor:
// after polls_alone consecutive polls that found nothing. A thread may poll several devices in
// turn, and only some of them have work. The thread does not yield while any of them moves: the
// last polls before a yield include one unsuccessful poll of each device.
//
// In a crowd (see backoff) four rules are added:
// - The number of polls before a yield is random, as threads with equal waits would swap their
//   processors in step for ever, each running together with a thread other than its partner. The
//   number is never less than alone: if a thread gave up before the answer of a running thread can
//   arrive, every message would wait for yields. (Two ranks of two threads on two processors, 8
//   bytes one way: 0.3 us; with 25 to 50 polls 0.5 to 2 us.)
// - Many short waits end with a yield, too, so that no thread waits long for the processor. They
//   last about as long as a time slice of the scheduler: a yield parts two partners that run at the
//   same time. (Two ranks of four threads on two processors, 8 bytes one way: 0.7 us; with a tenth
//   of these polls 0.9 us.)
// - A thread that finds something only right after its yields, and never while it polls on, waits
//   for a thread of its own processor. It yields after few polls, and tries occasionally whether
//   that has changed. (Partners that share a processor: 2.3 us instead of 3.5.)
// - Where a poll takes long, because it makes a system call, a thread polls for a certain time
//   instead of a number of polls: the threads of its processor would get it late. (Two ranks on
//   each of two hosts over TCP, on two processors in all: a barrier takes 15 to 20 us instead of
//   33 to 60, a message of 64 KiB 36 instead of 56 to 63.)
//
// Two kinds of thread yield rarely or never:
// - A thread that works between its polls, such as a scheduler that polls once after each task: it
//   does not wait, and a yield would cost its tasks a time slice.
// - A thread whose last yield took so long that the other threads do not return the processor. They
//   compute, or they spin for a lock that the program holds around its polls; the two cases cannot
//   be distinguished. The thread therefore polls for a while before it yields again: computing
//   threads lose little, and spinning threads get what they wait for. (The while is short enough
//   for twenty threads of a processor, all polling for that long, not to mistake each other's
//   yields for long ones.)
//
// The clock is read only around polls after which a yield may be due.
//
// Thread safety: an object belongs to one thread.
class poll_backoff {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using nanoseconds = std::chrono::nanoseconds;

  static constexpr uint32_t polls_alone = 100;
  static constexpr uint32_t most_polls_in_crowd = 2 * polls_alone;
  static constexpr uint32_t most_polls_between_yields = 400 * polls_alone;
  // A round does not wait longer than this number of polls of other devices for a device to recur.
  static constexpr uint32_t most_polls_a_round = 1024;

  // A completion found within this number of polls after a yield was there before them.
  static constexpr uint32_t burst_polls = 5;
  // This number of consecutive yields, each followed by an immediate find, shows that the partner
  // is a neighbor: a thread of the same processor.
  static constexpr uint32_t yields_that_show = 8;
  static constexpr uint32_t polls_for_neighbors = 3;
  // One yield in this number comes after as many polls as without neighbors.
  static constexpr uint32_t yields_between_trials = 8;

  // A poll of memory takes less than this, one with a system call more.
  static constexpr nanoseconds long_poll{50};
  // Of long polls, as many are made before a yield in a crowd as take this time, and at least
  // least_long_polls: a device of two networks may poll the slower one only every fourth time.
  static constexpr nanoseconds time_of_long_polls{1000};
  static constexpr uint32_t least_long_polls = 4;
  // A poll counts for no more than this: a thread that lost its processor once has no long polls.
  static constexpr nanoseconds most_of_a_poll{300};

  // Time between two polls counts as work if it is longer than this and than a poll.
  static constexpr nanoseconds least_work{1000};
  // After a yield longer than long_yield, that is, a time slice, the thread polls for at least
  // polling_after_long_yield.
  static constexpr nanoseconds long_yield{2'000'000};
  static constexpr nanoseconds polling_after_long_yield{100'000};

  // Before a poll: whether the caller must read the clock before and after it.
  bool is_timed() const { return timed_; }

  // An untimed poll found nothing. (Only a few instructions, as every poll executes them.)
  void idle() {
    ++polls_;
    if (__builtin_expect(may_be_due(), 0)) timed_ = true;
  }

  // A timed poll of `device`, an address that identifies the device, found nothing. Returns true if
  // the thread must yield now and then call yielded().
  //
  // The first device polled when a yield may be due begins a round. The round ends when that device
  // recurs: by then all devices have been polled without success.
  bool idle(const void* device, time_point begin, time_point end) {
    ++polls_;
    note_duration(end - begin);
    if (!may_be_due()) {
      timed_ = false;
      return false;
    }
    if (round_device_ == nullptr || round_begin_ <= last_move_) {
      round_device_ = device;
      round_begin_ = polls_;
      round_polling_ = round_between_ = nanoseconds(0);
      last_end_ = end;
      return false;
    }
    round_polling_ += end - begin;
    round_between_ += begin - last_end_;
    last_end_ = end;
    const uint32_t polls = polls_ - round_begin_;
    if (device != round_device_ && polls < most_polls_a_round) return false;
    const bool works = round_between_ > polls * least_work && round_between_ > round_polling_;
    if (!works && begin >= next_yield_) return true;
    start();
    return false;
  }

  // Something moved in the last poll.
  void reset() {
    found();
    ++moves_;
  }
  // The thread found what another thread's poll has brought.
  void found() { last_move_ = polls_; }

  // A number that each poll changes, whether something moved or not.
  uint32_t activity() const { return polls_ + moves_; }

  // For polls that are counted together: `polls` of them found nothing, at most polls_left().
  void idle_for(uint32_t polls) {
    polls_ += polls;
    if (may_be_due()) timed_ = true;
  }
  // Polls in vain up to the next one that must be timed; at least 1.
  uint32_t polls_left() const {
    if (timed_ || may_be_due()) return 1;
    return std::min(limit_ - (polls_ - last_move_), most_polls_ - polls_) + 1;
  }

  // The thread gave up its processor for the time `took`, until `now`.
  void yielded(nanoseconds took, time_point now) {
    if (last_move_ > burst_polls) {
      yields_for_neighbors_ = 0;
    } else if (last_move_ != 0) {
      ++yields_for_neighbors_;
    }
    ++yields_;
    start();
    limit_ = polls_alone;
    most_polls_ = no_limit;
    if (took > long_yield) next_yield_ = now + polling_after_long_yield;
    if (took <= crowd::longest_alone) return;
    limit_ = waits_for_neighbors() ? polls_for_neighbors : polls_in_crowd();
    most_polls_ = most_polls_between_yields;
  }
  // Returns how long the other threads had the processor.
  nanoseconds yield() {
    const nanoseconds took = crowd::yield();
    yielded(took, std::chrono::steady_clock::now());
    return took;
  }
  // Replaces a yield that is due: counting starts again.
  void stay() { start(); }

  // Performs all steps around a poll that returns whether something moved. Returns that value.
  template <class Poll>
  bool poll(const void* device, const Poll& poll_once) {
    if (!is_timed()) {
      const bool moved = poll_once();
      moved ? reset() : idle();
      return moved;
    }
    return poll_timed(device, poll_once, [this](time_point) { yield(); });
  }
  // Variant of the above for a timed poll. Calls yield_now(begin) where a yield is due; yield_now
  // must yield or return. `begin`: the time when the poll began.
  template <class Poll, class Yield>
  bool poll_timed(const void* device, const Poll& poll_once, const Yield& yield_now) {
    const time_point begin = std::chrono::steady_clock::now();
    const bool moved = poll_once();
    if (moved) {
      reset();
    } else if (idle(device, begin, std::chrono::steady_clock::now())) {
      yield_now(begin);
    }
    return moved;
  }

  // Total number of yields of the thread.
  uint32_t yields() const { return yields_; }

 private:
  static constexpr uint32_t no_limit = ~uint32_t{0};
  static constexpr int durations_averaged = 8;

  bool may_be_due() const { return polls_ - last_move_ > limit_ || polls_ > most_polls_; }
  void start() {
    polls_ = 1;
    last_move_ = 0;
    timed_ = false;
    round_device_ = nullptr;
  }
  void note_duration(nanoseconds took) {
    durations_ += std::min(took, most_of_a_poll) - durations_ / durations_averaged;
  }
  uint32_t polls_in_crowd() const {
    const nanoseconds duration = durations_ / durations_averaged;
    if (duration > long_poll) {
      return std::max(static_cast<uint32_t>(time_of_long_polls / duration), least_long_polls);
    }
    return polls_alone + crowd::random(most_polls_in_crowd - polls_alone + 1);
  }
  bool waits_for_neighbors() const {
    return yields_for_neighbors_ >= yields_that_show &&
           yields_for_neighbors_ % yields_between_trials != 0;
  }

  uint32_t polls_ = 1;              // 1 + unsuccessful polls since the last yield
  uint32_t last_move_ = 0;          // polls_ at the last move; 0: none
  uint32_t moves_ = 0;              // in all
  uint32_t limit_ = polls_alone;    // limit of polls_ since the last move
  uint32_t most_polls_ = no_limit;  // limit of polls_
  bool timed_ = false;
  uint32_t yields_ = 0;
  uint32_t yields_for_neighbors_ = 0;   // consecutive
  uint32_t round_begin_ = 0;            // polls_ at the first poll of the round
  nanoseconds durations_{0};            // of timed polls, the average times durations_averaged
  const void* round_device_ = nullptr;  // device of that poll; null: no round
  nanoseconds round_polling_{0};        // time in the polls of the round after the first
  nanoseconds round_between_{0};        // time between the polls of the round
  time_point last_end_;                 // end of the last timed poll
  time_point next_yield_;               // earliest time of the next yield
};

}  // namespace lci::base

#endif  // LCI_BASE_POLL_BACKOFF_H_
