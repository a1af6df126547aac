#include "lci/io/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>

#include <array>
#include <vector>

namespace lci::io {
namespace {

constexpr int events_per_call = 64;
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT);

}  // namespace

event_loop::event_loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) status_ = base::ErrnoToStatus(errno, "epoll_create1");
}

event_loop::id event_loop::watch(int fd, short events, callback ready) {
  const id watched = next_++;
  descriptor& added = watched_[watched];
  added.fd = fd;
  added.ready = std::make_shared<callback>(std::move(ready));
  change(watched, events);
  return watched;
}

void event_loop::change(id watched, short events) {
  const auto found = watched_.find(watched);
  if (found == watched_.end() || found->second.events == events) return;
  found->second.events = events;
  update(watched, &found->second);
}

void event_loop::forget(id watched) {
  change(watched, 0);
  watched_.erase(watched);
}

// Tells the kernel the events of a descriptor.
void event_loop::update(id watched, descriptor* of) {
  if (of->is_always_ready) --always_ready_;
  of->is_always_ready = false;
  epoll_event event = {};
  event.events = static_cast<uint32_t>(of->events);
  event.data.u64 = watched;
  // The kernel reports errors of a descriptor without events, too.
  const int operation = of->events == 0 ? EPOLL_CTL_DEL
                        : of->is_polled ? EPOLL_CTL_MOD
                                        : EPOLL_CTL_ADD;
  if (operation == EPOLL_CTL_DEL && !of->is_polled) return;
  of->is_polled =
      ::epoll_ctl(epoll_.get(), operation, of->fd, &event) == 0 && operation != EPOLL_CTL_DEL;
  // EPERM: a regular file. After another error, the callback finds out.
  of->is_always_ready = of->events != 0 && !of->is_polled;
  if (of->is_always_ready) ++always_ready_;
}

event_loop::id event_loop::at(steady::time_point when, callback due) {
  const id timer = next_++;
  timers_.emplace(when, std::make_pair(timer, std::move(due)));
  return timer;
}

void event_loop::cancel(id timer) {
  for (auto at = timers_.begin(); at != timers_.end(); ++at) {
    if (at->second.first == timer) {
      timers_.erase(at);
      return;
    }
  }
}

int event_loop::timeout() const {
  if (always_ready_ > 0) return 0;
  return timers_.empty() ? -1 : poll_milliseconds(timers_.begin()->first);
}

void event_loop::run_once() { run(timeout()); }

bool event_loop::step() { return run(0); }

// Returns false if an earlier callback has forgotten or changed the descriptor.
bool event_loop::call(id watched) {
  const auto found = watched_.find(watched);
  if (found == watched_.end() || found->second.events == 0) return false;
  const std::shared_ptr<callback> ready = found->second.ready;
  (*ready)();
  return true;
}

bool event_loop::run(int milliseconds) {
  std::array<epoll_event, events_per_call> events;
  const int ready = ::epoll_wait(epoll_.get(), events.data(), events_per_call, milliseconds);
  bool any = false;
  for (int i = 0; i < ready; ++i) any |= call(events[static_cast<size_t>(i)].data.u64);
  if (always_ready_ > 0) {
    std::vector<id> files;
    for (const auto& [watched, what] : watched_) {
      if (what.is_always_ready) files.push_back(watched);
    }
    for (const id file : files) any |= call(file);
  }
  const auto now = steady::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const callback due = std::move(timers_.begin()->second.second);
    timers_.erase(timers_.begin());
    due();
  }
  return any;
}

}  // namespace lci::io
