// Descriptors and points in time that somebody waits for.
#ifndef LCI_TOOLS_LAUNCHER_EVENT_LOOP_H_
#define LCI_TOOLS_LAUNCHER_EVENT_LOOP_H_

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace lci::launcher {

using steady = std::chrono::steady_clock;

// Thread safety: one thread. Callbacks may do anything with the loop but run it.
class event_loop {
 public:
  using id = uint64_t;  // never used again; 0 is nobody's
  using callback = std::function<void()>;

  // Calls `ready` whenever `fd` has one of `events` (POLLIN, POLLOUT), or an error. With no events
  // it is not looked at. The caller keeps `fd` open until it forgets it.
  id watch(int fd, short events, callback ready);
  void change(id watched, short events);
  void forget(id watched);  // does nothing for 0

  // Calls `due` once, at `when` or later.
  id at(steady::time_point when, callback due);
  void cancel(id timer);  // does nothing for 0

  // Waits until something is to be called, and calls what is.
  void run_once();

 private:
  struct descriptor {
    int fd;
    short events;
    std::shared_ptr<callback> ready;  // shared: it may be forgotten while it runs
  };

  int poll_timeout() const;

  id next_ = 1;
  std::map<id, descriptor> watched_;
  std::multimap<steady::time_point, std::pair<id, callback>> timers_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_EVENT_LOOP_H_
