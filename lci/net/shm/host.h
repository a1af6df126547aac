#ifndef LCI_NET_SHM_HOST_H_
#define LCI_NET_SHM_HOST_H_

#include <cstddef>
#include <cstdint>

namespace lci::net::shm {

// Equal exactly for processes that share a kernel.
uint64_t host_number();

// Equal exactly for processes that share a kernel and can name each other by process number, both
// in system calls and in /proc. (Nearly: the tokens of the segments have the last word.)
uint64_t process_numbering();

// How large a reserve (heap.h) each of so many ranks of a host can have: as the memory of the host,
// unless the address space of one process, ulimit -v or ulimit -f is too small for that.
size_t reserve_bytes(int ranks);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_HOST_H_
