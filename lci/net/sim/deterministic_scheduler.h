#ifndef LCI_NET_SIM_DETERMINISTIC_SCHEDULER_H_
#define LCI_NET_SIM_DETERMINISTIC_SCHEDULER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace lci::net::sim {

// Threads that run one at a time, so that what they do follows from a seed alone: who has the turn
// keeps it for some calls of pass(), which the fabric makes at each post and poll, and hands it to
// any of them. Some seeds let each rank go far ahead of the others, some hardly at all.
//
// Threads that wait for what never comes would call pass() for ever: after many more calls than any
// test needs, it ends the process.
//
// Only threads that have joined take part; others run as the machine likes.
class deterministic_scheduler {
 public:
  deterministic_scheduler(uint64_t seed, size_t threads);
  deterministic_scheduler(const deterministic_scheduler&) = delete;
  deterministic_scheduler& operator=(const deterministic_scheduler&) = delete;

  // The calling thread is number `number`, below `threads`, from now on. Returns when all have come
  // and it has the turn.
  void join(size_t number);
  // It takes no more part.
  void leave();

  // The calling thread waits for all the others in wait(), which returns when all have called this.
  template <class Wait>
  auto meet(const Wait& wait) {
    const size_t number = go(/*for_good=*/false);
    auto result = wait();
    join(number);
    return result;
  }

  // From now on all run as the machine likes: for who starts threads of his own.
  void end();

  // Those that the calling thread takes part in, or null.
  static deterministic_scheduler* of_this_thread();

  // Hands the turn of the calling thread, if it takes part in any, to somebody else, perhaps.
  static void pass();

 private:
  struct seat {
    bool taken = false;
    std::condition_variable called;
  };
  size_t go(bool for_good);
  void choose();
  void wait_for_turn(size_t number, std::unique_lock<std::mutex>* lock);
  void pass_on(size_t number);

  std::mutex mutex_;  // guards what follows; left_ is of who has the turn
  uint64_t random_;
  const uint64_t longest_;
  uint64_t left_ = 0;
  uint64_t calls_ = 0;
  std::deque<seat> seats_;
  size_t expected_;  // threads that have not left for good
  size_t joined_ = 0;
  size_t current_ = 0;
  bool running_ = false;  // false: until all have come
  bool ended_ = false;
};

}  // namespace lci::net::sim

#endif  // LCI_NET_SIM_DETERMINISTIC_SCHEDULER_H_
