// A memory barrier that takes effect in all threads of this process.
#ifndef LCI_BASE_PROCESS_BARRIER_H_
#define LCI_BASE_PROCESS_BARRIER_H_

#include <chrono>

namespace lci::base {

// For the rare side of an asymmetric pair, so that the frequent side needs no barrier instruction.
// Two threads each write a word and then read the word of the other. At least one of them sees the
// other's write if one thread calls process_barrier() between the write and the read, and the other
// keeps the compiler from reordering them (std::atomic_signal_fence). The implementation is the
// kernel's membarrier: 0.2 us, or some microseconds and an interrupt of the other processors that
// run threads of this process.
//
// Thread safety: any thread at any time.

// Returns false if the kernel has no such barrier, or a sandbox does not allow it; then
// process_barrier() must not be called. The first call registers the process, which may take
// milliseconds.
bool has_process_barrier();
// Returns how long the barrier took.
std::chrono::nanoseconds process_barrier();

}  // namespace lci::base

#endif  // LCI_BASE_PROCESS_BARRIER_H_
