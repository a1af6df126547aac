#ifndef LCI_TOOLS_LAUNCHER_TERMINAL_INPUT_H_
#define LCI_TOOLS_LAUNCHER_TERMINAL_INPUT_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/socket.h"
#include "tools/launcher/event_loop.h"

namespace lci::launcher {

// Hands on what is typed at lcrun's terminal to a rank. The rank cannot read it by itself: it is
// not of the process group in the foreground, and the kernel would stop it.
class terminal_input {
 public:
  // `loop` outlives the object.
  static base::StatusOr<std::unique_ptr<terminal_input>> make(event_loop* loop);
  ~terminal_input();
  terminal_input(const terminal_input&) = delete;
  terminal_input& operator=(const terminal_input&) = delete;

  // What the rank reads, until started().
  int rank_end() const { return rank_end_.get(); }
  // The rank has the only descriptor now, so that writing to a rank that has ended fails.
  void started() { rank_end_.reset(); }

  // Before each run of the loop.
  void before_wait();

 private:
  explicit terminal_input(event_loop* loop) : loop_(loop) {}
  void read_some();
  void write_some();
  void end();

  event_loop* const loop_;
  boot::unique_fd rank_end_;
  boot::unique_fd pipe_;  // to the rank; empty: the input has ended
  event_loop::id terminal_watched_ = 0;
  event_loop::id pipe_watched_ = 0;
  std::string bytes_;  // read, and not yet written
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_TERMINAL_INPUT_H_
