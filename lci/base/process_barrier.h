// A memory barrier in all threads of this process at once.
#ifndef LCI_BASE_PROCESS_BARRIER_H_
#define LCI_BASE_PROCESS_BARRIER_H_

namespace lci::base {

// For one side of a pair that is rare, so that the other, frequent one needs no barrier of its own:
// where two threads each write a word and then read the other's, one of them sees the other's write
// if one has process_barrier() between the two and the other keeps the compiler from exchanging
// them (std::atomic_signal_fence). It is the kernel's membarrier: some microseconds, and an
// interrupt of the processors that run threads of this process.
//
// Thread safety: any thread at any time.

// False where the kernel has none, or a sandbox doesn't allow it; then the other isn't called. The
// first call makes it ready, which may take milliseconds.
bool has_process_barrier();
void process_barrier();

}  // namespace lci::base

#endif  // LCI_BASE_PROCESS_BARRIER_H_
