// Runs a few threads in a chosen order, one step at a time, and tracks what each thread may see of
// the other threads' writes.
#ifndef LCI_TESTING_EXPLORER_SCHEDULER_H_
#define LCI_TESTING_EXPLORER_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lci/testing/explorer/choices.h"
#include "lci/testing/fiber/fiber.h"

namespace lci::ds::explorer {

constexpr size_t max_threads = 4;

// A vector clock: the number of operations of each thread that the owner of the clock knows of.
// Entry 0 is the thread outside the run, which makes the structure before the run and checks it
// afterwards.
struct vector_clock {
  std::array<uint32_t, max_threads + 1> of{};

  void join(const vector_clock& other) {
    for (size_t i = 0; i < of.size(); ++i) {
      if (other.of[i] > of[i]) of[i] = other.of[i];
    }
  }
};

// A thread's knowledge of the operations of each thread.
struct knowledge {
  // Operations that happened before the thread's next operation.
  vector_clock happened;
  // Also operations that a process barrier made visible to the thread. The thread reads no older
  // values of atomics, but it may not use ordinary memory on this basis: only a release and an
  // acquire hand that over.
  vector_clock visible;

  void join(const knowledge& other) {
    happened.join(other.happened);
    visible.join(other.visible);
  }
};

// One run of some threads. While it is alive, scheduled_atomics use it.
//
// Thread safety: none; one object at a time in each thread of the system.
class scheduler {
 public:
  // A run that takes more than `most_steps` steps has failed.
  scheduler(choices& from, size_t most_steps);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // Runs the bodies as threads 1, 2 and so on, until all have returned or the run has failed; in
  // that case they stop where they are, for ever.
  void run(const std::vector<std::function<void()>>& bodies);

  // Empty, or the first error.
  const std::string& failure() const { return failure_; }
  void fail(const std::string& what);

  // For scheduled_atomics.

  static scheduler* active();
  // Called before each step of a thread: another thread may run first.
  void step();
  // The thread cannot continue, or believes so, before another thread has changed something.
  void wait();
  // The thread has changed something.
  void changed();
  // The thread stops for ever after `steps` more steps, as if its process were killed. Nothing on
  // its stack is destroyed.
  void stop_after(size_t steps) { threads_[self_ - 1].steps_left = steps; }
  size_t self() const { return self_; }
  knowledge& known() { return known_[self_]; }
  // Begins an operation. Returns its number among those of the thread.
  uint32_t tick() {
    ++known().visible.of[self_];
    return ++known().happened.of[self_];
  }
  bool knows(size_t thread, uint32_t operation) const {
    return known_[self_].happened.of[thread] >= operation;
  }
  bool sees(size_t thread, uint32_t operation) const {
    return known_[self_].visible.of[thread] >= operation;
  }
  // Chooses which of `count` values to read: 0 is the newest.
  size_t choose_value(size_t count);

  // The two sides of the asymmetric fence (lci/ds/atomics.h). The processor of each other thread is
  // interrupted at its own moment, and the compiler may have moved any of the thread's operations
  // across that moment, except across a light barrier. The caller therefore sees what the thread
  // did before its last light barrier, and the thread sees what the caller did before the call,
  // though not before its next light barrier.
  void light_barrier();
  void process_barrier();

  // The life of an atomic. A thread that uses one that has ended fails, before it does.
  void begin_life(const void* atomic) { ended_.erase(atomic); }
  void end_life(const void* atomic) { ended_.insert(atomic); }
  void check_life(const void* atomic);

  // Ordinary reads and writes. Fails if a write of another thread (for a write, also a read) is
  // ordered neither before nor after.
  void plain_read(const void* address, size_t size);
  void plain_write(const void* address, size_t size);

 private:
  enum class thread_state { ready, waiting, finished, stopped };
  struct thread_record {
    std::unique_ptr<fiber> runs;
    thread_state state = thread_state::ready;
    size_t steps_left = SIZE_MAX;
  };
  // Eight bytes of memory.
  struct granule {
    size_t writer = 0;
    uint32_t write = 0;
    vector_clock reads;
  };

  void give_way(bool must);
  void take_step();
  void body(const std::function<void()>& of);
  void see_barriers();
  template <class Use>
  void for_each_granule(const void* address, size_t size, const Use& use);

  choices& choices_;
  const size_t most_steps_;
  size_t steps_ = 0;
  size_t waits_in_vain_ = 0;  // since the last change
  size_t self_ = 0;
  size_t next_ = 0;  // thread that continues when the running one has paused
  std::string failure_;
  std::vector<thread_record> threads_;  // thread i is at i - 1
  std::array<knowledge, max_threads + 1> known_;
  // By thread: the clock that process barriers hold for its next light barrier, and its own clock
  // at its last light barrier.
  std::array<vector_clock, max_threads + 1> shown_;
  std::array<vector_clock, max_threads + 1> at_light_barrier_;
  std::unordered_map<uintptr_t, granule> plain_;
  std::unordered_set<const void*> ended_;
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_EXPLORER_SCHEDULER_H_
