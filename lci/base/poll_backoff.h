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
// The clock is read only when a yield may be due. Times are passed in by the caller.
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

  // A poll found nothing. True if a yield may be due: the caller then asks round_is_over(). (A few
  // instructions, since each poll has them.)
  bool idle() {
    ++polls_;
    return __builtin_expect(polls_ - last_move_ > limit_ || polls_ > most_polls_, 0);
  }

  // Whether each device has been polled in vain since the last move. `device`, an address that
  // tells it from others, is the one polled last, until `now`. The first device polled when a yield
  // may be due begins a round, which is over when that device comes again.
  bool round_is_over(const void* device, time_point now) {
    if (round_device_ == nullptr || round_begin_ <= last_move_) {
      round_device_ = device;
      round_begin_ = polls_;
      round_time_ = now;
      return false;
    }
    return device == round_device_ || polls_ - round_begin_ >= most_polls_a_round;
  }

  // After a round that was over at `now`: whether the thread is to yield, and to call yielded()
  // then. If not, the count begins anew. poll_time: what one poll takes.
  bool is_due(time_point now, nanoseconds poll_time) {
    const nanoseconds between = (now - round_time_) / (polls_ - round_begin_) - poll_time;
    const bool works = between > least_work && between > poll_time;
    if (!works && now >= next_yield_) return true;
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
  void yield() {
    const nanoseconds took = crowd::yield();
    yielded(took, std::chrono::steady_clock::now());
  }

  // All of it, for a loop that does nothing between its polls.
  void idle_or_yield(const void* device) {
    if (!idle()) return;
    const time_point now = std::chrono::steady_clock::now();
    if (round_is_over(device, now) && is_due(now, nanoseconds::max())) yield();
  }

  // How often the thread has yielded, in all.
  uint32_t yields() const { return yields_; }

 private:
  static constexpr uint32_t no_limit = ~uint32_t{0};

  void start() {
    polls_ = 1;
    last_move_ = 0;
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
  uint32_t yields_ = 0;
  uint32_t yields_for_neighbours_ = 0;  // in a row
  uint32_t round_begin_ = 0;            // polls_ with the poll that the round began with
  const void* round_device_ = nullptr;  // of that poll; null: none since the last yield
  time_point round_time_;               // when that poll was over
  time_point next_yield_;               // not before
};

}  // namespace lci::base

#endif  // LCI_BASE_POLL_BACKOFF_H_
