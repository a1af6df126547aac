#include "tools/launcher/rank_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lci/base/strings.h"

namespace lci::launcher {

base::StatusOr<std::unique_ptr<rank_input>> rank_input::make(io::event_loop* loop,
                                                             std::function<void(size_t)> written) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return base::InternalError(base::StrCat("no pipe: ", std::strerror(errno)));
  }
  std::unique_ptr<rank_input> made(new rank_input(loop, std::move(written)));
  made->rank_end_.reset(ends[0]);
  made->pipe_.reset(ends[1]);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  made->watched_ = loop->watch(ends[1], 0, [input = made.get()] { input->write_some(); });
  return made;
}

void rank_input::add(const std::string& bytes) {
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
