#include "lci/testing/write_watch/watched_calls.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "lci/base/sanitizer.h"

// (The sanitizers define functions of these names, too.)
#if defined(__x86_64__) && !defined(LCI_BASE_ADDRESS_SANITIZER) && \
    !defined(LCI_BASE_THREAD_SANITIZER)

#define LCI_WATCHED_CALL extern "C" __attribute__((section("lci_watched_calls"), used))

// Declared under other names, as the headers declare and even define the originals.
LCI_WATCHED_CALL ssize_t lci_watched_read(int file, void* to, size_t size) __asm__("read");
LCI_WATCHED_CALL ssize_t lci_watched_recv(int socket, void* to, size_t size,
                                          int flags) __asm__("recv");
LCI_WATCHED_CALL ssize_t lci_watched_recvmsg(int socket, msghdr* to, int flags) __asm__("recvmsg");
LCI_WATCHED_CALL int lci_watched_poll(pollfd* entries, nfds_t count, int timeout) __asm__("poll");
LCI_WATCHED_CALL int lci_watched_epoll_wait(int set, epoll_event* to, int count,
                                            int timeout) __asm__("epoll_wait");
LCI_WATCHED_CALL int lci_watched_getsockopt(int socket, int level, int option, void* to,
                                            socklen_t* size) __asm__("getsockopt");

// Ends of the section, defined by the linker.
extern "C" const char __start_lci_watched_calls[];
extern "C" const char __stop_lci_watched_calls[];

namespace {

constexpr size_t most_bytes = size_t{64} << 10;
constexpr size_t most_entries = 256;
constexpr size_t most_option_bytes = 256;

thread_local bool is_watched = false;

}  // namespace

ssize_t lci_watched_read(int file, void* to, size_t size) {
  if (!is_watched) return syscall(SYS_read, file, to, size);
  unsigned char bytes[most_bytes];
  const ssize_t got = syscall(SYS_read, file, bytes, std::min(size, most_bytes));
  if (got > 0) std::memcpy(to, bytes, static_cast<size_t>(got));
  return got;
}

ssize_t lci_watched_recv(int socket, void* to, size_t size, int flags) {
  if (!is_watched) return syscall(SYS_recvfrom, socket, to, size, flags, nullptr, nullptr);
  unsigned char bytes[most_bytes];
  const ssize_t got =
      syscall(SYS_recvfrom, socket, bytes, std::min(size, most_bytes), flags, nullptr, nullptr);
  if (got > 0) std::memcpy(to, bytes, std::min(size, static_cast<size_t>(got)));
  return got;
}

ssize_t lci_watched_recvmsg(int socket, msghdr* to, int flags) {
  if (!is_watched) return syscall(SYS_recvmsg, socket, to, flags);
  unsigned char bytes[most_bytes];
  size_t size = 0;
  for (size_t i = 0; i < to->msg_iovlen; ++i) size += to->msg_iov[i].iov_len;
  iovec whole = {bytes, std::min(size, most_bytes)};
  msghdr here = *to;
  here.msg_iov = &whole;
  here.msg_iovlen = 1;
  const ssize_t got = syscall(SYS_recvmsg, socket, &here, flags);
  if (got < 0) return got;
  size_t position = 0;
  const size_t there = std::min(whole.iov_len, static_cast<size_t>(got));
  for (size_t i = 0; position < there; ++i) {
    const size_t part = std::min(to->msg_iov[i].iov_len, there - position);
    std::memcpy(to->msg_iov[i].iov_base, bytes + position, part);
    position += part;
  }
  to->msg_namelen = here.msg_namelen;
  to->msg_controllen = here.msg_controllen;
  to->msg_flags = here.msg_flags;
  return got;
}

int lci_watched_poll(pollfd* entries, nfds_t count, int timeout) {
  if (!is_watched) return static_cast<int>(syscall(SYS_poll, entries, count, timeout));
  if (count > most_entries) {
    errno = EINVAL;
    return -1;
  }
  pollfd here[most_entries];
  std::copy_n(entries, count, here);
  const int ready = static_cast<int>(syscall(SYS_poll, here, count, timeout));
  if (ready < 0) return ready;
  for (nfds_t i = 0; i < count; ++i) entries[i].revents = here[i].revents;
  return ready;
}

int lci_watched_epoll_wait(int set, epoll_event* to, int count, int timeout) {
  if (!is_watched) return static_cast<int>(syscall(SYS_epoll_wait, set, to, count, timeout));
  epoll_event here[most_entries];
  const int most = std::min(count, static_cast<int>(most_entries));
  const int ready = static_cast<int>(syscall(SYS_epoll_wait, set, here, most, timeout));
  if (ready > 0) std::memcpy(to, here, static_cast<size_t>(ready) * sizeof(here[0]));
  return ready;
}

int lci_watched_getsockopt(int socket, int level, int option, void* to, socklen_t* size) {
  if (!is_watched) {
    return static_cast<int>(syscall(SYS_getsockopt, socket, level, option, to, size));
  }
  unsigned char bytes[most_option_bytes];
  socklen_t here = std::min(*size, static_cast<socklen_t>(most_option_bytes));
  const int result = static_cast<int>(syscall(SYS_getsockopt, socket, level, option, bytes, &here));
  if (result != 0) return result;
  std::memcpy(to, bytes, here);
  *size = here;
  return result;
}

namespace lci::base {

watched_calls::watched_calls() { is_watched = true; }
watched_calls::~watched_calls() { is_watched = false; }

bool is_watched_call(uintptr_t instruction) {
  return instruction >= reinterpret_cast<uintptr_t>(__start_lci_watched_calls) &&
         instruction < reinterpret_cast<uintptr_t>(__stop_lci_watched_calls);
}

}  // namespace lci::base

#else

namespace lci::base {

watched_calls::watched_calls() {}
watched_calls::~watched_calls() {}
bool is_watched_call(uintptr_t) { return false; }

}  // namespace lci::base

#endif
