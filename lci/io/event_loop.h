// Calls functions when descriptors become ready and when timers expire.
#ifndef LCI_IO_EVENT_LOOP_H_
#define LCI_IO_EVENT_LOOP_H_

#include <poll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "lci/base/status.h"
#include "lci/io/deadline.h"
#include "lci/io/unique_fd.h"

namespace lci::io {

// The time of a call depends on the number of descriptors that are ready, not on the number that
// are watched (epoll(7)).
//
// Thread safety: one thread at a time. Callbacks may call everything but run_once() and step().
class event_loop {
 public:
  using id = uint64_t;  // unique; 0: none
  using callback = std::function<void()>;

  event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  // ResourceExhausted if the kernel gave the loop no descriptor; then it only calls timers.
  const base::Status& status() const { return status_; }

  // Calls `ready` whenever `fd` has one of `events` (POLLIN, POLLOUT), or an error. Ignores `fd`
  // while `events` is 0. The caller keeps `fd` open until forget(), and watches it only once. A
  // regular file is always ready, as for poll(2).
  id watch(int fd, short events, callback ready);
  void change(id watched, short events);
  void forget(id watched);  // does nothing for 0

  // Calls `due` once, not before `when`.
  id at(steady::time_point when, callback due);
  void cancel(id timer);  // does nothing for 0

  // Waits until a descriptor is ready or a timer expires, and calls their functions.
  void run_once();

  // For a loop within another one: calls the functions of what is ready now, and returns whether a
  // descriptor was.
  bool step();
  // Readable when a descriptor of this loop is ready, except a regular file. Not for timers.
  int fd() const { return epoll_.get(); }

 private:
  struct descriptor {
    int fd = -1;
    short events = 0;
    bool is_polled = false;             // the kernel watches it
    bool is_always_ready = false;       // the kernel can't watch it
    std::shared_ptr<callback> ready{};  // shared, because the callback may call forget()
  };

  void update(id watched, descriptor* of);
  int timeout() const;
  bool run(int milliseconds);
  bool call(id watched);

  base::Status status_;
  const unique_fd epoll_;
  id next_ = 1;
  std::unordered_map<id, descriptor> watched_;
  int always_ready_ = 0;  // descriptors that are, and have events
  std::multimap<steady::time_point, std::pair<id, callback>> timers_;
};

}  // namespace lci::io

#endif  // LCI_IO_EVENT_LOOP_H_
