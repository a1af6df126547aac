/// @file
/// The attributes of all resources.

/// @defgroup lci_attributes Attributes
/// The attributes of all resources: type, name, default, and unit and meaning of each.
///
/// One list for each kind of resource serves the attribute struct, the getters of the handle, the
/// options of the operation that allocates the resource, the environment variables
/// `LCI_ATTR_NAME` (with the name of the attribute in capitals) and the global defaults. The value
/// of an attribute is that given to the allocating operation; else that of set_g_default_attr; else
/// that of the environment variable; else the default of the list.
#ifndef LCI_API_ATTR_HPP_
#define LCI_API_ATTR_HPP_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/api/types.hpp"

// clang-format off

/// @addtogroup lci_attributes
/// @{

/// Attributes of runtimes that the program may set at the allocation.
#define LCI_RUNTIME_ATTRS(X)                                                                       \
  X(size_t, packet_return_threshold, 4096,                                                         \
    "packets in a thread's stock; a thread with more returns packets to the threads that used "    \
    "them first")                                                                                  \
  X(int, imm_nbits_tag, 16, "bits of the immediate data that carry the tag, 0 to 16")              \
  X(int, imm_nbits_rcomp, 15, "bits of the immediate data that carry rcomp, 1 to 15")              \
  X(int, imm_nbits_signal_part, 8,                                                                 \
    "bits that number the parts of one message, of the 30 bits that identify the signal of a "     \
    "put; 0 to 16")                                                                                \
  X(size_t, signal_patience, 10000,                                                                \
    "milliseconds after which signal_wait logs what is missing, and again after twice the "        \
    "time; 0: never")                                                                              \
  X(int, nrails, 1,                                                                                \
    "devices over which a put or get of blocks is spread if the program names none: the "          \
    "default device, and further ones that are made with the runtime; 1 to 16")                    \
  X(size_t, rail_min_chunk, size_t{64} << 10,                                                      \
    "bytes of a put or get of blocks that are worth a rail of their own; at least 1")              \
  X(size_t, coll_copy_area_max_size, size_t{8} << 10,                                              \
    "bytes that a rank offers to a collective operation in shared memory that only copies, up to " \
    "which they stand in the rank's area as a whole, unless coll_measure_paths selects pipes past " \
    "the caches for more than 1 KiB; more bytes go through pipes; 0 to 32 KiB, equal on all "      \
    "ranks")                                                                                       \
  X(size_t, coll_reduce_area_max_size, size_t{4} << 10,                                            \
    "as coll_copy_area_max_size, of operations that combine items; where there are no pipes, "     \
    "32 KiB stand in the area; 0 to 32 KiB, equal on all ranks")                                   \
  X(size_t, coll_parts_min_size, size_t{2} << 10,                                                  \
    "bytes of an allreduce in the areas from which on each rank combines a part of the items and " \
    "copies the results of the others, instead of combining all; equal on all ranks")              \
  X(size_t, coll_pipe_max_size, size_t{1} << 30,                                                   \
    "bytes that a rank offers to a collective operation in shared memory, up to which they go "    \
    "through pipes: one rank copies them in while the others copy them out; of more, or with 0, "  \
    "the kernel copies from rank to rank, where it may; equal on all ranks")                       \
  X(bool, coll_measure_paths, true,                                                                \
    "whether the first rank measures pipes, or the area, pipes past the caches and copies by the " \
    "kernel, for each kind of collective operation and each size, and selects the fastest path "   \
    "for all ranks; otherwise coll_pipe_max_size alone selects the path")                          \
  X(size_t, coll_cached_max_size, 0,                                                               \
    "bytes of the send and receive buffers of all ranks of a host together, up to which the "      \
    "results of a collective operation in shared memory go through the caches; those of larger "   \
    "operations bypass them; 0: three quarters of the last-level caches that the ranks can use")   \
  X(size_t, coll_hosts_max_size, size_t{1} << 30,                                                  \
    "bytes of the largest collective operation between hosts in which the ranks of each host "     \
    "meet in shared memory and one of them exchanges messages with the other hosts; 0: every "     \
    "rank exchanges messages; equal on all ranks")                                                 \
  X(int, coll_host_leaders, 1,                                                                     \
    "ranks of each host that exchange messages with other hosts in a large allreduce, each a "     \
    "part of the data; at least 1, at most as many as the smallest host has; equal on all ranks")  \
  X(attr_rdv_protocol_t, rdv_protocol, attr_rdv_protocol_t::auto_select,                           \
    "how the receiver learns that the bytes of a rendezvous have arrived")                         \
  X(bool, alloc_default_device, true, "whether a default device is made with the runtime")         \
  X(bool, alloc_default_packet_pool, true,                                                         \
    "whether a default packet pool is made with the runtime")                                      \
  X(bool, alloc_default_matching_engine, true,                                                     \
    "whether a default matching engine is made with the runtime")

/// Attributes of runtimes that are known only after the allocation.
#define LCI_RUNTIME_READONLY_ATTRS(X)                                                              \
  X(uint64_t, max_imm_tag, 0, "largest tag that a put with signal carries")                        \
  X(uint64_t, max_imm_rcomp, 0, "largest rcomp that a put with signal carries")                    \
  X(uint64_t, max_tag, 0, "largest tag of a send, receive or active message")                      \
  X(uint64_t, max_rcomp, 0, "largest rcomp of an active message")

/// Attributes of packet pools that the program may set at the allocation.
#define LCI_PACKET_POOL_ATTRS(X)                                                                   \
  X(size_t, packet_size, 8192,                                                                     \
    "bytes of a packet, which limits the messages that are sent by copy (but see "                 \
    "shm_eager_size); 256 to 65536")                                                               \
  X(size_t, npackets, 65536,                                                                       \
    "packets of a pool at most; a packet takes memory from its first use on")                      \
  X(size_t, packet_kept_bytes, size_t{64} << 20,                                                       \
    "bytes of larger packets (of large active messages that arrive in a packet or are lent, and "  \
    "of early messages) that a pool keeps for later messages; 0: none")

/// Attributes of packet pools that are known only after the allocation.
#define LCI_PACKET_POOL_READONLY_ATTRS(X)

/// Attributes of matching engines that the program may set at the allocation.
#define LCI_MATCHING_ENGINE_ATTRS(X)                                                               \
  X(attr_matching_engine_type_t, matching_engine_type, attr_matching_engine_type_t::map,           \
    "data structure of the entries")

/// Attributes of matching engines that are known only after the allocation.
#define LCI_MATCHING_ENGINE_READONLY_ATTRS(X)

/// Attributes of completion objects that the program may set at the allocation.
#define LCI_COMP_ATTRS(X)                                                                          \
  X(int, sync_threshold, 1, "signals that a synchronizer waits for, at least 1")                   \
  X(bool, zero_copy_am, false,                                                                     \
    "whether active messages arrive in packets, which the program returns by put_upacket")         \
  X(bool, lend_am, false,                                                                          \
    "whether the bytes of active messages are lent: the library owns them, and they are "          \
    "readable until signal() returns")                                                             \
  X(attr_cq_type_t, cq_type, attr_cq_type_t::lcrq, "design of a completion queue")                 \
  X(int, cq_default_length, 65536, "statuses that an array_atomic queue holds, at least 1")        \
  X(int, signal_nbits_event, 32,                                                                   \
    "bits of a signal's counter that count events, 1 to 40; one more bit reports too many "        \
    "events, and the other bits count parts of messages")

/// Attributes of completion objects that are known only after the allocation.
#define LCI_COMP_READONLY_ATTRS(X)                                                                 \
  X(attr_comp_type_t, comp_type, attr_comp_type_t::custom, "kind of the completion object")        \
  X(int64_t, signal_num_event, 0, "events that a signal waits for")

/// Attributes of net contexts that the program may set at the allocation.
#define LCI_NET_CONTEXT_ATTRS(X)                                                                   \
  X(attr_backend_t, backend, attr_backend_t::none,                                                 \
    "transport; none: shm if all ranks are on one host, else mixed: shm between ranks of one "     \
    "host, and between hosts ibv where all ranks have it, else ofi")                               \
  X(std::string, ofi_provider_name, "", "ofi: provider; empty: the best available one")            \
  X(size_t, max_msg_size, size_t{1} << 30,                                                         \
    "bytes of one put or get of the network at most, at least 1; the library splits larger ones")  \
  X(size_t, max_inject_size, 64,                                                                   \
    "no effect: each network determines how many bytes it copies by itself")                       \
  X(int, ibv_gid_idx, -1, "ibv: index of the global identifier; -1: the library chooses it")       \
  X(bool, ibv_force_gid_auto_select, false,                                                        \
    "ibv: whether the library chooses the global identifier even on InfiniBand")                   \
  X(int, ibv_eager_ranks, 64,                                                                      \
    "ibv: ranks of the largest job that connects its queue pairs at the start; larger jobs "       \
    "connect them on first use")                                                                   \
  X(std::string, device_name, "", "network interface; empty: the best available one")              \
  X(attr_ibv_odp_strategy_t, ibv_odp_strategy, attr_ibv_odp_strategy_t::none,                      \
    "ibv: on-demand paging of registered memory")                                                  \
  X(attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy, attr_ibv_prefetch_strategy_t::none,       \
    "ibv: prefetching of memory that is paged on demand")                                          \
  X(size_t, max_registrations, 0,                                                                  \
    "registrations of a net context with the network at most; a piece of memory may need one "     \
    "per device; 0: as many as the network has room for")                                          \
  X(bool, use_dmabuf, true, "no effect: memory of accelerators is not registered")

/// Attributes of net contexts that are known only after the allocation.
#define LCI_NET_CONTEXT_READONLY_ATTRS(X)                                                          \
  X(bool, support_putimm, true, "whether the network itself can notify the target of a put")

/// Attributes of devices that the program may set at the allocation.
#define LCI_DEVICE_ATTRS(X)                                                                        \
  X(size_t, net_max_sends, 1024,                                                                   \
    "operations in progress at most, where the network has a queue for them; at least 2")          \
  X(size_t, net_max_recvs, 4096,                                                                   \
    "receives posted in advance, where the network needs them; at least 1")                        \
  X(size_t, net_max_cqes, 65536,                                                                   \
    "entries of the network's completion queue, where it has one; at least net_max_sends + "       \
    "net_max_recvs")                                                                               \
  X(double, net_send_reserved_pct, 0.25,                                                           \
    "fraction of net_max_sends that is reserved for answers to peers, 0 to 0.9")                   \
  X(uint64_t, ofi_lock_mode, 0,                                                                    \
    "no effect: calls that need a lock take one. A mask of LCI_NET_TRYLOCK_SEND and so on")        \
  X(size_t, ofi_gather_size, size_t{64} << 10,                                                     \
    "ofi: bytes of a packet in which small messages to one rank are coalesced while others are "   \
    "on the way to it: over TCP packets have this size (tcp;ofi_rxm: 16 KiB at most; smaller "     \
    "in jobs of many ranks), elsewhere they are no larger than for one message; 0: each "          \
    "message leaves by itself")                                                                    \
  X(size_t, ofi_eager_size, size_t{64} << 10,                                                      \
    "ofi, over TCP: bytes of the largest message that is sent by copy, even if a packet of the "   \
    "pool holds less (tcp;ofi_rxm: 16368 at most; less in jobs of many ranks)")                   \
  X(size_t, ofi_piece_size, 0,                                                                     \
    "ofi, over TCP: bytes of a large message that are written at a time; 0: 192 KiB where the "    \
    "kernel paces its sends (congestion control bbr), else all")                                   \
  X(bool, alloc_default_endpoint, true, "whether a default endpoint is made with the device")      \
  X(bool, alloc_progress_endpoint, false,                                                          \
    "no effect: progress never waits for the endpoints of threads that post")                      \
  X(bool, use_reg_cache, false,                                                                    \
    "whether registrations of buffers that the program has not registered are kept for later "     \
    "operations; only for buffers whose memory stays mapped as long as the net context exists")    \
  X(attr_ibv_td_strategy_t, ibv_td_strategy, attr_ibv_td_strategy_t::per_qp,                       \
    "ibv: use of thread domains")                                                                  \
  X(size_t, shm_eager_size, size_t{32} << 10,                                                      \
    "shm: bytes of the largest message that is sent by copy, even if a packet holds less; at "     \
    "most what a quarter of a ring holds (a ring has 8 MiB divided by the number of ranks, but "   \
    "64 to 256 KiB)")                                                                              \
  X(size_t, shm_joint_copy_size, size_t{32} << 10,                                                 \
    "shm: bytes of the smallest send that both ranks copy in parallel: each copies a part, or "    \
    "one copies into a ring and the other out of it, whichever has been faster lately; the "       \
    "sender alone copies smaller sends")                                                           \
  X(int, shm_lanes, 0,                                                                             \
    "shm: lanes of the device, 1 to 64, rounded down to a power of two. A lane is a set of rings; "  \
    "threads that use different lanes do not wait for each other. 0: of the first device of a net " \
    "context four for each processor that a rank has to itself, and of others one")                 \
  X(bool, shm_enable, true,                                                                        \
    "no effect: ranks of one host use shared memory unless the backend attribute names a "         \
    "network")                                                                                     \
  X(size_t, shm_ring_size, size_t{64} << 10,                                                       \
    "no effect: a ring has 8 MiB divided by the number of ranks, but 64 to 256 KiB")               \
  X(size_t, shm_slot_size, 128, "no effect: a message in a ring takes the bytes that it needs")    \
  X(size_t, shm_producer_cas_attempts, 4, "no effect: each ring has one writer at a time")         \
  X(size_t, shm_consumer_cas_attempts, 1, "no effect: each ring has one reader at a time")         \
  X(size_t, shm_max_polls, 16,                                                                     \
    "no effect: a call of progress takes up to 16 completions of a device, from whichever "        \
    "network they are")                                                                            \
  X(int, am_poll_mask, 15,                                                                         \
    "mask of polls: each time that the number of polls of the device and this mask have no bit "   \
    "in common, the polling thread also makes progress on the default device, if no other "        \
    "thread does; 2^n - 1, or -1: never")                                                          \
  X(int, signal_level, -1,                                                                         \
    "support level of signals (UNR), 0 to 4, equal on all ranks; -1: the best one that the "       \
    "network has")                                                                                 \
  X(bool, progress_thread, false,                                                                  \
    "whether a thread of the library makes progress on the device, for programs that only wait "   \
    "for signals. With nothing to do, that thread sleeps: over ibv and most providers of ofi "     \
    "(tcp, net, sockets) until the network reports that something has arrived, else for up to a "  \
    "millisecond at a time")                                                                  \
  X(bool, progress_yield, true,                                                                    \
    "whether calls of progress on the device that find nothing, a hundred of them in a row, "      \
    "give the processor to other threads that wait for it; false: a thread that polls the "        \
    "device gives it away only in calls that block")

/// Attributes of devices that are known only after the allocation.
#define LCI_DEVICE_READONLY_ATTRS(X)                                                               \
  X(int, uid, -1, "number of the device within its net context, in the order of allocation")       \
  X(uint64_t, max_signals, 0,                                                                      \
    "signals of a rank that puts reach on the fastest path; a put to a signal made later costs "   \
    "one more message")                                                                            \
  X(uint64_t, max_signal_parts, 0, "rails over which one put to a signal is spread at most")       \
  X(bool, signal_needs_progress, true,                                                             \
    "whether a thread must make progress at the target before a put counts there")

/// Attributes of registered memory that the program may set at the allocation.
#define LCI_MR_ATTRS(X)
/// Attributes of registered memory that are known only after the allocation.
#define LCI_MR_READONLY_ATTRS(X)

/// Attributes of plans that the program may set at the allocation.
#define LCI_PLAN_ATTRS(X)
/// Attributes of plans that are known only after the allocation.
#define LCI_PLAN_READONLY_ATTRS(X)                                                                 \
  X(size_t, plan_size, 0, "puts and gets recorded")

/// Attributes of groups that the program may set at the allocation.
#define LCI_GROUP_ATTRS(X)
/// Attributes of groups that are known only after the allocation.
#define LCI_GROUP_READONLY_ATTRS(X)                                                                \
  X(bool, shares_memory, false,                                                                    \
    "whether the ranks meet in shared memory for collective operations")

/// Attributes of persistent collectives that the program may set at the allocation.
#define LCI_PERSISTENT_COLL_ATTRS(X)
/// Attributes of persistent collectives that are known only after the allocation.
#define LCI_PERSISTENT_COLL_READONLY_ATTRS(X)

/// Attributes of thread teams that the program may set at the allocation.
#define LCI_THREAD_TEAM_ATTRS(X)
/// Attributes of thread teams that are known only after the allocation.
#define LCI_THREAD_TEAM_READONLY_ATTRS(X)                                                          \
  X(size_t, nthreads, 0, "threads of this rank")

/// Attributes of endpoints that the program may set at the allocation.
#define LCI_ENDPOINT_ATTRS(X)
/// Attributes of endpoints that are known only after the allocation.
#define LCI_ENDPOINT_READONLY_ATTRS(X)                                                             \
  X(int, uid, -1, "number of the endpoint within its device, in the order of allocation")

/// All attributes that have a global default.
#define LCI_GLOBAL_ATTRS(X)     \
  LCI_RUNTIME_ATTRS(X)          \
  LCI_PACKET_POOL_ATTRS(X)      \
  LCI_MATCHING_ENGINE_ATTRS(X)  \
  LCI_COMP_ATTRS(X)             \
  LCI_NET_CONTEXT_ATTRS(X)      \
  LCI_DEVICE_ATTRS(X)

/// All resources with attributes: X(resource, RESOURCE).
#define LCI_RESOURCES(X)                  \
  X(runtime, RUNTIME)                     \
  X(packet_pool, PACKET_POOL)             \
  X(matching_engine, MATCHING_ENGINE)     \
  X(comp, COMP)                           \
  X(net_context, NET_CONTEXT)             \
  X(device, DEVICE)                       \
  X(mr, MR)                               \
  X(plan, PLAN)                           \
  X(group, GROUP)                         \
  X(persistent_coll, PERSISTENT_COLL)     \
  X(thread_team, THREAD_TEAM)             \
  X(endpoint, ENDPOINT)

/// @}

// clang-format on

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_attributes
/// @{

/// @struct lci::runtime_attr_t
/// The attributes of a runtime.

/// @struct lci::packet_pool_attr_t
/// The attributes of a packet pool.

/// @struct lci::matching_engine_attr_t
/// The attributes of a matching engine.

/// @struct lci::comp_attr_t
/// The attributes of a completion object.

/// @struct lci::net_context_attr_t
/// The attributes of a net context.

/// @struct lci::device_attr_t
/// The attributes of a device.

/// @struct lci::mr_attr_t
/// The attributes of registered memory.

/// @struct lci::plan_attr_t
/// The attributes of a plan.

/// @struct lci::group_attr_t
/// The attributes of a group.

/// @struct lci::persistent_coll_attr_t
/// The attributes of a persistent collective.

/// @struct lci::thread_team_attr_t
/// The attributes of a thread team.

/// @struct lci::endpoint_attr_t
/// The attributes of an endpoint.

#define LCI_ATTR_FIELD(type_, name_, default_, doc_) /** doc_ */ type_ name_ = default_;

// Defines runtime_attr_t, device_attr_t and so on. `name` and `user_context` belong to every
// resource and have no global default.
// clang-format off
#define LCI_ATTR_STRUCT(resource_, RESOURCE_)                                                      \
  struct resource_##_attr_t {                                                                      \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_FIELD)                                                        \
    LCI_##RESOURCE_##_READONLY_ATTRS(LCI_ATTR_FIELD)                                               \
    /** Name of the resource, for diagnostics. The string must outlive the resource. */            \
    const char* name = DEFAULT_NAME;                                                               \
    /** Value that the library keeps for the program. */                                           \
    void* user_context = nullptr;                                                                  \
  };
// clang-format on
LCI_RESOURCES(LCI_ATTR_STRUCT)

/// The defaults of all attributes that the program may set.
struct global_attr_t {
  LCI_GLOBAL_ATTRS(LCI_ATTR_FIELD)
};

/// @}

#undef LCI_ATTR_STRUCT
#undef LCI_ATTR_FIELD

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_ATTR_HPP_
