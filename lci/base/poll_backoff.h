// When a thread that polls devices gives its processor to other threads.
#ifndef LCI_BASE_POLL_BACKOFF_H_
#define LCI_BASE_POLL_BACKOFF_H_

#include <chrono>
#include <cstdint>

#include "lci/base/backoff.h"

namespace lci::base {

// Counts the polls of one thread, of all its devices, and says when to yield the processor: after
// polls_alone polls in a row that found nothing. A thread may poll several devices in turn, of
// which only some have work. It is not told to yield while any of them moves: the last polls before
// a yield are one of each device, in vain.
//
// In a crowd (see backoff) three things are added:
// - The number of polls before a yield is random, since threads that wait equally long would swap
//   their processors at the same moment for ever, each with another partner than it waits for. It
//   is never less than alone: if a thread gave up before the answer of a running thread can arrive,
//   every message would wait for yields. (Two ranks of two threads on two processors, 8 bytes one
//   way: 0.3 us; with 25 to 50 polls 0.5 to 2 us.)
// - Many short waits end with a yield, too, so that nobody waits long for the processor.
// - A thread that finds something only right after its yields, and never while it polls on, waits
//   for a thread of its own processor. It yields after few polls, and tries now and then whether
//   that has changed. (Partners that share a processor: 2.3 us instead of 3.5.)
//
// Two kinds of thread do not yield, or seldom:
// - One that works between its polls, as a scheduler that polls once after each task: it does not
//   wait, and a yield would cost its tasks a time slice.
// - One whose last yield took so long that the others do not give the processor back. They compute,
//   or they spin for a lock that the program holds around its polls; which of the two, nobody can
//   tell. So the thread polls for a while before it yields again: those who compute lose little,
//   and those who spin get what they wait for. (The while is short enough for twenty threads of a
//   processor, which all poll for it, not to take each other's yields for such.)
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
  static constexpr uint32_t most_polls_between_yields = 40 * polls_alone;
  // A device that has not come again after so many other polls is not waited for.
  static constexpr uint32_t most_polls_a_round = 1024;

  // What so many polls after a yield find was there before them.
  static constexpr uint32_t polls_at_once = 5;
  // So many yields in a row after which all was found at once show that the partner is a neighbour.
  static constexpr uint32_t yields_that_show = 8;
  static constexpr uint32_t polls_for_neighbours = 3;
  // One yield in so many comes after as many polls as if there were no neighbours.
  static constexpr uint32_t yields_between_trials = 8;

  // What a thread does between two polls, if it takes longer than that and than a poll, is work.
  static constexpr nanoseconds least_work{1000};
  // After a yield that took longer than long_yield, that is, a time slice, the thread polls for
  // polling_after_long_yield at least.
  static constexpr nanoseconds long_yield{2'000'000};
  static constexpr nanoseconds polling_after_long_yield{100'000};

  // Before a poll: whether the caller is to read the clock before and after it.
  bool is_timed() const { return timed_; }

  // A poll that was not timed found nothing. (A few instructions, since each poll has them.)
  void idle() {
    ++polls_;
    if (__builtin_expect(may_be_due(), 0)) timed_ = true;
  }

  // A timed poll of `device`, an address that tells it from others, found nothing. True if the
  // thread is to yield now, and to call yielded() then.
  //
  // The first device polled when a yield may be due begins a round, which is over when that device
  // comes again. Then all devices have been polled in vain.
  bool idle(const void* device, time_point begin, time_point end) {
    ++polls_;
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

  // Something moved.
  void reset() { last_move_ = polls_; }

  // The thread gave its processor away for so long, until `now`.
  void yielded(nanoseconds took, time_point now) {
    if (last_move_ > polls_at_once) {
      yields_for_neighbours_ = 0;
    } else if (last_move_ != 0) {
      ++yields_for_neighbours_;
    }
    ++yields_;
    start();
    limit_ = polls_alone;
    most_polls_ = no_limit;
    if (took > long_yield) next_yield_ = now + polling_after_long_yield;
    if (took <= crowd::longest_alone) return;
    limit_ = waits_for_neighbours()
                 ? polls_for_neighbours
                 : polls_alone + crowd::random(most_polls_in_crowd - polls_alone + 1);
    most_polls_ = most_polls_between_yields;
  }
  // Returns how long the others had the processor.
  nanoseconds yield() {
    const nanoseconds took = crowd::yield();
    yielded(took, std::chrono::steady_clock::now());
    return took;
  }
  // Instead of a yield that is due: the count begins anew.
  void stay() { start(); }

  // All of it, around a poll that returns whether something moved. Returns that.
  template <class Poll>
  bool poll(const void* device, const Poll& poll_once) {
    if (!is_timed()) {
      const bool moved = poll_once();
      moved ? reset() : idle();
      return moved;
    }
    const time_point begin = std::chrono::steady_clock::now();
    const bool moved = poll_once();
    if (moved) {
      reset();
    } else if (idle(device, begin, std::chrono::steady_clock::now())) {
      yield();
    }
    return moved;
  }

  // How often the thread has yielded, in all.
  uint32_t yields() const { return yields_; }

 private:
  static constexpr uint32_t no_limit = ~uint32_t{0};

  bool may_be_due() const { return polls_ - last_move_ > limit_ || polls_ > most_polls_; }
  void start() {
    polls_ = 1;
    last_move_ = 0;
    timed_ = false;
    round_device_ = nullptr;
  }
  bool waits_for_neighbours() const {
    return yields_for_neighbours_ >= yields_that_show &&
           yields_for_neighbours_ % yields_between_trials != 0;
  }

  uint32_t polls_ = 1;              // in vain since the last yield, and one
  uint32_t last_move_ = 0;          // polls_ when something moved last; 0: nothing has
  uint32_t limit_ = polls_alone;    // of polls_ since the last move
  uint32_t most_polls_ = no_limit;  // of polls_
  bool timed_ = false;
  uint32_t yields_ = 0;
  uint32_t yields_for_neighbours_ = 0;  // in a row
  uint32_t round_begin_ = 0;            // polls_ with the poll that the round began with
  const void* round_device_ = nullptr;  // of that poll; null: no round
  nanoseconds round_polling_{0};        // in the polls of the round after the first
  nanoseconds round_between_{0};        // between the polls of the round
  time_point last_end_;                 // of a timed poll
  time_point next_yield_;               // not before
};

}  // namespace lci::base

#endif  // LCI_BASE_POLL_BACKOFF_H_
