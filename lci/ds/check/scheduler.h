// Runs a few threads in an order that is chosen, one step at a time, and knows what each may see of
// the others' writes.
#ifndef LCI_DS_CHECK_SCHEDULER_H_
#define LCI_DS_CHECK_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lci/ds/check/choices.h"
#include "lci/ds/check/fiber.h"

namespace lci::ds::check {

constexpr size_t max_threads = 4;

// How far a thread knows of each: a vector clock. Place 0 is the thread outside the run, which
// makes the structure before it and looks at it afterwards.
struct vector_clock {
  std::array<uint32_t, max_threads + 1> of{};

  void join(const vector_clock& other) {
    for (size_t i = 0; i < of.size(); ++i) {
      if (other.of[i] > of[i]) of[i] = other.of[i];
    }
  }
};

// What a thread knows of the operations of each.
struct knowledge {
  // Those that happened before what it does next.
  vector_clock happened;
  // Also those that a process barrier showed it. It reads no older values of atomics, but nobody
  // has handed ordinary memory to it: only a release and an acquire do.
  vector_clock visible;

  void join(const knowledge& other) {
    happened.join(other.happened);
    visible.join(other.visible);
  }
};

// One run of some threads. While it is alive it is what scheduled_atomics work with.
//
// Thread safety: none; one at a time in each thread of the system.
class scheduler {
 public:
  // A run that takes more steps than `most_steps` has failed.
  scheduler(choices& from, size_t most_steps);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // Runs the bodies as threads 1, 2 and so on, until all have returned or the run has failed; then
  // they stop where they are, for ever.
  void run(const std::vector<std::function<void()>>& bodies);

  // Empty, or what went wrong first.
  const std::string& failure() const { return failure_; }
  void fail(const std::string& what);

  // For scheduled_atomics.

  static scheduler* active();
  // Before each step of a thread: another one may go first.
  void step();
  // The thread can go no further before another has changed something, or so it thinks.
  void wait();
  // The thread has changed something.
  void changed();
  // The thread stops for ever after that many more steps, as if its process were killed. Nothing on
  // its stack is destroyed.
  void stop_after(size_t steps) { threads_[self_ - 1].steps_left = steps; }
  size_t self() const { return self_; }
  knowledge& known() { return known_[self_]; }
  // Begins an operation: its number among those of the thread.
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
  // Which of `count` values to read: 0 is the newest.
  size_t choose_value(size_t count);

  // The two sides of the asymmetric fence (lci/ds/atomics.h). Each other thread's processor is
  // interrupted at a moment of its own, and the compiler may have moved any of the thread's
  // operations to the other side of it, but for a light barrier between. So the caller sees what
  // the thread did before its last light barrier, and the thread sees what the caller did before
  // the call, though not before its next light barrier.
  void light_barrier();
  void process_barrier();

  // Ordinary reads and writes: a failure if another thread's write, or for a write also its read,
  // is neither before nor after.
  void plain_read(const void* address, size_t size);
  void plain_write(const void* address, size_t size);

 private:
  enum class thread_state { ready, waiting, finished, stopped };
  struct fellow {
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
  size_t waits_in_vain_ = 0;  // since anything changed
  size_t self_ = 0;
  size_t next_ = 0;  // who goes on, when the running thread has paused
  std::string failure_;
  std::vector<fellow> threads_;  // thread i at i - 1
  std::array<knowledge, max_threads + 1> known_;
  // What process barriers have for each thread's next light barrier; what it saw at its last.
  std::array<vector_clock, max_threads + 1> shown_;
  std::array<vector_clock, max_threads + 1> at_light_barrier_;
  std::unordered_map<uintptr_t, granule> plain_;
};

}  // namespace lci::ds::check

#endif  // LCI_DS_CHECK_SCHEDULER_H_
