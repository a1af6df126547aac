#ifndef LCI_TESTING_RANKS_DETERMINISTIC_SCHEDULER_H_
#define LCI_TESTING_RANKS_DETERMINISTIC_SCHEDULER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace lci {

// Runs threads one at a time, so that what they do follows from a seed alone. A thread keeps the
// turn for some steps, which are the posts and polls of the simulated network
// (fabric::set_step_hook), and then hands it to any of the threads. Some seeds let each rank run
// far ahead of the others, some hardly at all.
//
// Threads that wait for something that never happens would take steps for ever: after many more
// steps than any test needs, the scheduler ends the process.
//
// Only threads that have joined take part; others run as the machine schedules them.
class deterministic_scheduler {
 public:
  deterministic_scheduler(uint64_t seed, size_t threads);
  deterministic_scheduler(const deterministic_scheduler&) = delete;
  deterministic_scheduler& operator=(const deterministic_scheduler&) = delete;

  // The calling thread becomes number `number`, which is below `threads`. Returns when all threads
  // have joined and this one has the turn.
  void join(size_t number);
  // The calling thread takes part no longer.
  void leave();

  // Calls wait(), which returns when all threads have called it, while others have the turn.
  template <class Wait>
  auto meet(const Wait& wait) {
    const size_t number = go(/*for_good=*/false);
    auto result = wait();
    join(number);
    return result;
  }

  // From now on all threads run as the machine schedules them: for a thread that starts others.
  void end();

  // The scheduler that the calling thread takes part in, or null.
  static deterministic_scheduler* of_this_thread();

 private:
  struct seat {
    bool taken = false;
    std::condition_variable called;
  };
  // A step of the calling thread: may hand its turn to another thread.
  static void pass();
  size_t go(bool for_good);
  void choose();
  void wait_for_turn(size_t number, std::unique_lock<std::mutex>* lock);
  void pass_on(size_t number);

  std::mutex mutex_;  // guards the members below; left_ is of the thread that has the turn
  uint64_t random_;
  const uint64_t longest_;
  uint64_t left_ = 0;
  uint64_t calls_ = 0;
  std::deque<seat> seats_;
  size_t expected_;  // threads that have not left for good
  size_t joined_ = 0;
  size_t current_ = 0;
  bool running_ = false;  // all threads have joined
  bool ended_ = false;
};

}  // namespace lci

#endif  // LCI_TESTING_RANKS_DETERMINISTIC_SCHEDULER_H_
