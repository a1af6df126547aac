// The two ends of a ring: messages from one rank to another, in order, through shared memory.
//
// Memory orders, numbered here and named below and in ring.cc:
//   R1 -> A1  word of a message's first cell: the sender stores it (release) after all else of the
//             message; the receiver loads it (acquire) before it reads anything else.
//   R2 -> A2  ring_control::freed: the receiver stores it (release) after its last read of the
//             cells; the sender loads it (acquire) before it writes there again.
//   R3 -> A3  spans_[]: the thread that frees a message stores its span (release) after its last
//             read; reclaim() loads it (acquire) before it hands the cells on by R2.
//   R4 -> A4  ring_control::closed: the sender stores it (release) after its last message.
// Invariants:
//   1. Cells in [freed, written) hold messages that are on their way or being read; all others
//      belong to the sender. The receiver writes to none: lines move only one way.
//   2. Before a message is published, the sender wipes the word behind it, where the next one's
//      will stand: it is 0 until then. (The receiver looks at no other cell.)
//   3. A message is contiguous in memory, and spans at most a quarter of the ring.
//   4. spans_[i] is non-zero exactly for the messages that begin in cell i, were handed out, and
//      are freed but not yet reclaimed.
//
// Both ends are templates over the atomics (lci/ds/atomics.h), so that ring_explore_test can run
// them under every order of steps.
#ifndef LCI_NET_SHM_RING_H_
#define LCI_NET_SHM_RING_H_

#include "lci/ds/atomics.h"
#include "lci/net/shm/ring_reader.h"
#include "lci/net/shm/ring_writer.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

extern template class basic_ring_writer<ds::std_atomics>;
extern template class basic_ring_reader<ds::std_atomics>;

using ring_writer = basic_ring_writer<ds::std_atomics>;
using ring_reader = basic_ring_reader<ds::std_atomics>;
static_assert(sizeof(ring_writer) == 2 * cache_line_size);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_H_
