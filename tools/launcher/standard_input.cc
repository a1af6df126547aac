#include "tools/launcher/standard_input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lci::launcher {

standard_input::standard_input(io::event_loop* loop, std::function<void(std::string_view)> take)
    : loop_(loop),
      take_(std::move(take)),
      watched_(loop->watch(STDIN_FILENO, 0, [this] { read_some(); })) {}

void standard_input::before_wait(size_t room) {
  room_ = room;
  // The kernel would stop a background job that reads the terminal.
  const bool background = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
  loop_->change(watched_, static_cast<short>(room > 0 && !background ? POLLIN : 0));
}

void standard_input::read_some() {
  char block[16384];
  const size_t room = std::min(sizeof(block), room_);
  if (room == 0) return;
  const ssize_t n = read(STDIN_FILENO, block, room);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const size_t size = n > 0 ? static_cast<size_t>(n) : 0;  // an error ends the input
  room_ -= size;
  if (size == 0) close();
  take_(std::string_view(block, size));
}

}  // namespace lci::launcher
