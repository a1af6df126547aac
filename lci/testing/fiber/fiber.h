// User-level threads for tests: they take turns on threads of the system, under explicit control.
#ifndef LCI_TESTING_FIBER_FIBER_H_
#define LCI_TESTING_FIBER_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace lci {

// A function with a stack of its own. It runs only inside resume(), until it calls pause() or
// returns. It is announced to the sanitizers, which would otherwise confuse the stacks.
//
// Thread safety: one thread at a time; each resume() may be by another thread. The body lets no
// exception escape. Before the fiber is destroyed, the body has returned, or has never begun.
class fiber {
 public:
  // `stack`: `size` bytes of the caller, as long as the fiber exists; null: the fiber's own. Sanitized
  // code needs much stack, but the sanitizers' switches take time for each byte.
  explicit fiber(std::function<void()> body, unsigned char* stack = nullptr,
                 size_t size = 64 << 10);
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // Runs the body until it pauses or returns. Not callable from inside a fiber.
  void resume();
  // Called from inside: returns to the caller of resume().
  void pause();

  bool finished() const { return finished_; }

 private:
  static void start(unsigned high, unsigned low);
  void run();

  std::function<void()> body_;
  const std::unique_ptr<unsigned char[]> own_stack_;  // null: the stack is the caller's
  unsigned char* const stack_;
  const size_t stack_size_;
  ucontext_t own_;
  ucontext_t resumer_;
  bool finished_ = false;
  // The sanitizers' names of the two stacks.
  void* own_name_ = nullptr;
  void* resumer_name_ = nullptr;
  const void* resumer_stack_ = nullptr;
  size_t resumer_stack_size_ = 0;
};

}  // namespace lci

#endif  // LCI_TESTING_FIBER_FIBER_H_
