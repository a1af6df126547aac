// Threads of a test that take turns on one thread of the system, when told to.
#ifndef LCI_DS_CHECK_FIBER_H_
#define LCI_DS_CHECK_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace lci::ds::check {

// A function with a stack of its own. It runs only inside resume(), until it calls pause() or
// returns. Known to the sanitizers, which else mistake one stack for another.
//
// Thread safety: none; resume() by the thread that constructed it. The body lets no exception out,
// and has returned, or never begun, before the fiber is destroyed.
class fiber {
 public:
  explicit fiber(std::function<void()> body);
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // Runs it until it pauses or returns. Not from inside a fiber.
  void resume();
  // From inside: back to where it was resumed.
  void pause();

  bool finished() const { return finished_; }

 private:
  static void start(unsigned high, unsigned low);
  void run();

  std::function<void()> body_;
  std::unique_ptr<unsigned char[]> stack_;
  ucontext_t own_;
  ucontext_t resumer_;
  bool finished_ = false;
  // What the sanitizers call the two stacks.
  void* own_name_ = nullptr;
  void* resumer_name_ = nullptr;
  const void* resumer_stack_ = nullptr;
  size_t resumer_stack_size_ = 0;
};

}  // namespace lci::ds::check

#endif  // LCI_DS_CHECK_FIBER_H_
