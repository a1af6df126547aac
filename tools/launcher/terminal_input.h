#ifndef LCI_TOOLS_LAUNCHER_TERMINAL_INPUT_H_
#define LCI_TOOLS_LAUNCHER_TERMINAL_INPUT_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "lci/io/unique_fd.h"

namespace lci::launcher {

// Passes the input of lcrun's terminal on to a rank. The rank cannot read the terminal itself: it
// is not in the foreground process group, and the kernel would stop it.
class terminal_input {
 public:
  // `loop` outlives the object.
  static base::StatusOr<std::unique_ptr<terminal_input>> make(io::event_loop* loop);
  ~terminal_input();
  terminal_input(const terminal_input&) = delete;
  terminal_input& operator=(const terminal_input&) = delete;

  // The descriptor for the rank. Valid until started().
  int rank_end() const { return rank_end_.get(); }
  // Closes the descriptor for the rank, so that writing fails when the rank has ended.
  void started() { rank_end_.reset(); }

  // Call before each wait of the loop.
  void before_wait();

 private:
  explicit terminal_input(io::event_loop* loop) : loop_(loop) {}
  void read_some();
  void write_some();
  void end();

  io::event_loop* const loop_;
  io::unique_fd rank_end_;
  io::unique_fd pipe_;  // to the rank; invalid: the input has ended
  io::event_loop::id terminal_watched_ = 0;
  io::event_loop::id pipe_watched_ = 0;
  std::string bytes_;  // read, but not yet written
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_TERMINAL_INPUT_H_
