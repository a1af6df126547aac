#ifndef LCI_TOOLS_LAUNCHER_STANDARD_INPUT_H_
#define LCI_TOOLS_LAUNCHER_STANDARD_INPUT_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "lci/io/event_loop.h"

namespace lci::launcher {

// Reads lcrun's standard input for a rank that can't read it itself: one on another host, or one
// that is not in the foreground process group of the terminal, so that the kernel would stop it.
//
// Thread safety: the thread of the event loop.
class standard_input {
 public:
  // Calls `take` with what was read; with no bytes at the end, or when the input is gone. `loop`
  // outlives the object.
  standard_input(io::event_loop* loop, std::function<void(std::string_view bytes)> take);
  ~standard_input() { close(); }
  standard_input(const standard_input&) = delete;
  standard_input& operator=(const standard_input&) = delete;

  // Reads at most `room` bytes until the next call, and nothing while this process is in the
  // background of the terminal. Call before each wait of the loop.
  void before_wait(size_t room);

 private:
  void read_some();
  void close() { loop_->forget(std::exchange(watched_, 0)); }

  io::event_loop* const loop_;
  const std::function<void(std::string_view)> take_;
  io::event_loop::id watched_;  // 0: the input has ended
  size_t room_ = 0;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_STANDARD_INPUT_H_
