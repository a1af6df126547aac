#include "tools/launcher/standard_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tools/launcher/pipe.h"

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

base::StatusOr<std::unique_ptr<rank_input>> rank_input::make(io::event_loop* loop,
                                                             std::function<void(size_t)> written) {
  base::StatusOr<pipe_ends> pipe = make_pipe("no pipe");
  if (!pipe.ok()) return pipe.status();
  std::unique_ptr<rank_input> made(new rank_input(loop, std::move(written)));
  made->rank_end_ = std::move(pipe->read);
  made->pipe_ = std::move(pipe->write);
  const int fd = made->pipe_.get();
  fcntl(fd, F_SETFL, O_NONBLOCK);
  made->watched_ = loop->watch(fd, 0, [input = made.get()] { input->write_some(); });
  return made;
}

void rank_input::add(std::string_view bytes) {
  if (!pipe_) return;
  if (bytes.empty()) ends_ = true;
  bytes_ += bytes;
  write_some();
}

void rank_input::write_some() {
  const ssize_t n = bytes_.empty() ? 0 : write(pipe_.get(), bytes_.data(), bytes_.size());
  if (n < 0 && errno != EAGAIN && errno != EINTR) return close();  // the rank has closed its end
  if (n > 0) {
    bytes_.erase(0, static_cast<size_t>(n));
    written_(static_cast<size_t>(n));
  }
  if (bytes_.empty() && ends_) return close();
  loop_->change(watched_, bytes_.empty() ? 0 : POLLOUT);
}

void rank_input::close() {
  loop_->forget(std::exchange(watched_, 0));
  pipe_.reset();
  bytes_.clear();
}

}  // namespace lci::launcher
