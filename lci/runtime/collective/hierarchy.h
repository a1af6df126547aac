// Collective operations of ranks on several hosts, some of which have several ranks. The ranks of
// each host meet in their shared memory, and leaders, one of each host, exchange messages: a host
// sends and receives the data of its ranks once, in one message instead of one for each rank.
//
// An operation is a schedule (schedule.h) with up to two steps in the memory of the host: towards
// the leader, before the messages, and from the leader, after them.
#ifndef LCI_RUNTIME_COLLECTIVE_HIERARCHY_H_
#define LCI_RUNTIME_COLLECTIVE_HIERARCHY_H_

#include <cstddef>

#include "lci/coll/blocks.h"
#include "lci/coll/operations.h"
#include "lci/coll/scan.h"
#include "lci/runtime/collective/call.h"

namespace lci::rt {

// Each carries out the operation of a call that has begun, as collective_schedule::run(), or
// returns false without effect where the operation cannot take this way or would not gain by it;
// then it goes by messages alone. All ranks get the same answer. Arguments are those of
// lci/api/coll.hpp, checked; sizes are in bytes.
//
// Reductions combine the items of a host's ranks first, and then those of the hosts, in the order
// of ranks. They therefore need the ranks of each host to follow each other, except for a small
// allreduce, in which every rank combines the items of all.
//
// An alltoall of small blocks takes this way, since a host then sends one message to another host,
// instead of one for each pair of ranks. An alltoall of large blocks, and alltoallv, do not: each
// rank has other data for each rank, so that a host sends as many bytes with leaders as without,
// and copies them twice more.
bool barrier_by_hosts(collective_call* call);
bool broadcast_by_hosts(collective_call* call, void* buffer, size_t size, int root);
bool gather_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf, size_t size,
                     int root);
bool scatter_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf, size_t size,
                      int root);
// For allgather, where all blocks have one size, and allgatherv.
bool allgather_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf,
                        const coll::block_layout& blocks);
bool alltoall_by_hosts(collective_call* call, const void* sendbuf, void* recvbuf, size_t size);
bool reduce_by_hosts(collective_call* call, const coll::reduction& what, int root);
// `fixed_order`: every rank combines the items of all, x0 op (x1 op (x2 ...)).
bool allreduce_by_hosts(collective_call* call, const coll::reduction& what, bool fixed_order);
// For reduce_scatter and reduce_scatterv. `blocks`: the blocks of the send buffer; what.size is
// that of this rank's block.
bool reduce_scatter_by_hosts(collective_call* call, const coll::reduction& what,
                             const coll::block_layout& blocks);
bool scan_by_hosts(collective_call* call, const coll::reduction& what, coll::scan_kind kind);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_HIERARCHY_H_
