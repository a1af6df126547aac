// Part of write_watch.h: system calls that write to the program's memory while it is read-only.
#ifndef LCI_TESTING_WRITE_WATCH_WATCHED_CALLS_H_
#define LCI_TESTING_WRITE_WATCH_WATCHED_CALLS_H_

#include <cstdint>

namespace lci::base {

// During its lifetime, these calls of this thread have the kernel write to the stack, and copy the
// data to its destination by ordinary stores: read, recv, recvmsg (without an address and control
// data), poll, epoll_wait, getsockopt. The calls may come from the program and from libraries that
// it has loaded, as the program defines functions of these names; calls inside the C library are
// not covered. Of a longer read, only the first 64 KiB are read.
class watched_calls {
 public:
  watched_calls();
  ~watched_calls();
  watched_calls(const watched_calls&) = delete;
  watched_calls& operator=(const watched_calls&) = delete;
};

// Whether the instruction belongs to one of these functions.
bool is_watched_call(uintptr_t instruction);

}  // namespace lci::base

#endif  // LCI_TESTING_WRITE_WATCH_WATCHED_CALLS_H_
