// A part of write_watch.h: system calls that write to the program's memory, while that is
// read-only.
#ifndef LCI_BASE_WATCHED_CALLS_H_
#define LCI_BASE_WATCHED_CALLS_H_

#include <cstdint>

namespace lci::base {

// While it lives, these calls of this thread have the kernel write to the stack, and copy that to
// where it belongs by ordinary stores: read, recv, recvmsg (without an address and control data),
// poll, epoll_wait, getsockopt. They may come from the program and from libraries it has loaded,
// for they are the program's own functions of these names; what the C library calls inside is not
// among them. Of a longer reading, the first 64 KiB are done.
class watched_calls {
 public:
  watched_calls();
  ~watched_calls();
  watched_calls(const watched_calls&) = delete;
  watched_calls& operator=(const watched_calls&) = delete;
};

// Whether the code there is of these functions.
bool is_watched_call(uintptr_t instruction);

}  // namespace lci::base

#endif  // LCI_BASE_WATCHED_CALLS_H_
