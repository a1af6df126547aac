#include "tools/launcher/event_loop.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lci::launcher {

event_loop::id event_loop::watch(int fd, short events, callback ready) {
  const id mine = next_++;
  watched_[mine] = {fd, events, std::make_shared<callback>(std::move(ready))};
  return mine;
}

void event_loop::change(id watched, short events) {
  const auto found = watched_.find(watched);
  if (found != watched_.end()) found->second.events = events;
}

void event_loop::forget(id watched) { watched_.erase(watched); }

event_loop::id event_loop::at(steady::time_point when, callback due) {
  const id mine = next_++;
  timers_.emplace(when, std::make_pair(mine, std::move(due)));
  return mine;
}

void event_loop::cancel(id timer) {
  for (auto at = timers_.begin(); at != timers_.end(); ++at) {
    if (at->second.first == timer) {
      timers_.erase(at);
      return;
    }
  }
}

int event_loop::poll_timeout() const {
  if (timers_.empty()) return -1;
  // Rounded up, so that poll() does not return before the timer expires.
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - steady::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

void event_loop::run_once() {
  std::vector<pollfd> descriptors;
  std::vector<id> ids;
  for (const auto& [watched, what] : watched_) {
    if (what.events == 0) continue;
    descriptors.push_back({what.fd, what.events, 0});
    ids.push_back(watched);
  }
  const int ready = poll(descriptors.data(), descriptors.size(), poll_timeout());
  for (size_t i = 0; ready > 0 && i < descriptors.size(); ++i) {
    if (descriptors[i].revents == 0) continue;
    const auto found = watched_.find(ids[i]);
    if (found == watched_.end() || found->second.events == 0)
      continue;  // changed by an earlier callback
    const std::shared_ptr<callback> call = found->second.ready;
    (*call)();
  }
  const auto now = steady::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const callback due = std::move(timers_.begin()->second.second);
    timers_.erase(timers_.begin());
    due();
  }
}

}  // namespace lci::launcher
