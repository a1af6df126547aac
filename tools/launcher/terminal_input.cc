#include "tools/launcher/terminal_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lci::launcher {

base::StatusOr<std::unique_ptr<terminal_input>> terminal_input::make(io::event_loop* loop) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoToStatus(errno, "no pipe for the input");
  std::unique_ptr<terminal_input> made(new terminal_input(loop));
  made->rank_end_.reset(ends[0]);
  made->pipe_.reset(ends[1]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  made->terminal_watched_ =
      loop->watch(STDIN_FILENO, 0, [input = made.get()] { input->read_some(); });
  made->pipe_watched_ = loop->watch(ends[1], 0, [input = made.get()] { input->write_some(); });
  return made;
}

terminal_input::~terminal_input() { end(); }

void terminal_input::before_wait() {
  if (pipe_.get() < 0) return;
  // The kernel would stop a background job that reads the terminal.
  const bool foreground = tcgetpgrp(STDIN_FILENO) == getpgrp();
  loop_->change(terminal_watched_, static_cast<short>(foreground && bytes_.empty() ? POLLIN : 0));
  loop_->change(pipe_watched_, static_cast<short>(bytes_.empty() ? 0 : POLLOUT));
}

void terminal_input::read_some() {
  char block[4096];
  const ssize_t n = read(STDIN_FILENO, block, sizeof(block));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end();  // an error means that the terminal is gone
  bytes_.assign(block, static_cast<size_t>(n));
  write_some();
}

void terminal_input::write_some() {
  const ssize_t n = write(pipe_.get(), bytes_.data(), bytes_.size());
  if (n < 0 && errno != EAGAIN && errno != EINTR) return end();  // the rank reads no more
  if (n > 0) bytes_.erase(0, static_cast<size_t>(n));
}

void terminal_input::end() {
  loop_->forget(std::exchange(terminal_watched_, 0));
  loop_->forget(std::exchange(pipe_watched_, 0));
  pipe_.reset();
}

}  // namespace lci::launcher
