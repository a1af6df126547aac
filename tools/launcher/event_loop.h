// Calls functions when descriptors become ready and when timers expire.
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

// Thread safety: one thread. Callbacks may call everything but run_once().
class event_loop {
 public:
  using id = uint64_t;  // unique; 0: none
  using callback = std::function<void()>;

  // Calls `ready` whenever `fd` has one of `events` (POLLIN, POLLOUT), or an error. Ignores `fd`
  // while `events` is 0. The caller keeps `fd` open until forget().
  id watch(int fd, short events, callback ready);
  void change(id watched, short events);
  void forget(id watched);  // does nothing for 0

  // Calls `due` once, not before `when`.
  id at(steady::time_point when, callback due);
  void cancel(id timer);  // does nothing for 0

  // Waits until a descriptor is ready or a timer expires, and calls their functions.
  void run_once();

 private:
  struct descriptor {
    int fd;
    short events;
    std::shared_ptr<callback> ready;  // shared, because the callback may call forget()
  };

  int poll_timeout() const;

  id next_ = 1;
  std::map<id, descriptor> watched_;
  std::multimap<steady::time_point, std::pair<id, callback>> timers_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_EVENT_LOOP_H_
