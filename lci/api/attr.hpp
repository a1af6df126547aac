// The attributes of every resource, each said once: type, name, default, and unit and meaning.
//
// A list serves the attribute struct, the getters of the handle, the options of the allocating
// operation, the environment variable LCI_ATTR_<NAME>, the global defaults and lci_info.
//   *_ATTRS(X)           settable when the resource is allocated
//   *_READONLY_ATTRS(X)  known only after that
// `name` and `user_context` belong to every resource and have no global default.
#ifndef LCI_API_ATTR_HPP_
#define LCI_API_ATTR_HPP_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/api/types.hpp"

// clang-format off
#define LCI_RUNTIME_ATTRS(X)                                                                       \
  X(size_t, packet_return_threshold, 4096, "packets a thread keeps before it gives those of others back") \
  X(int, imm_nbits_tag, 16, "bits of the immediate data that carry the tag, 0 to 16")              \
  X(int, imm_nbits_rcomp, 15, "bits of the immediate data that carry rcomp, 1 to 15")              \
  X(int, imm_nbits_signal_part, 8, "bits, of the 30 that say which signal a put is for, that number the parts of one message; 0 to 16") \
  X(size_t, signal_patience, 10000, "milliseconds after which signal_wait says what is missing, and again after twice the time; 0: never") \
  X(int, nrails, 1, "devices that a put or get of blocks is spread over if none is named: the default one, and others that are made with the runtime; 1 to 16") \
  X(size_t, rail_min_chunk, size_t{64} << 10, "bytes of a put or get of blocks that are worth a rail of their own; at least 1") \
  X(attr_rdv_protocol_t, rdv_protocol, attr_rdv_protocol_t::auto_select, "how a rendezvous ends")  \
  X(bool, alloc_default_device, true, "make a default device with the runtime")                    \
  X(bool, alloc_default_packet_pool, true, "make a default packet pool with the runtime")          \
  X(bool, alloc_default_matching_engine, true, "make a default matching engine with the runtime")

#define LCI_RUNTIME_READONLY_ATTRS(X)                                                              \
  X(uint64_t, max_imm_tag, 0, "largest tag that put with signal carries")                          \
  X(uint64_t, max_imm_rcomp, 0, "largest rcomp that put with signal carries")                      \
  X(uint64_t, max_tag, 0, "largest tag of a send, receive or active message")                      \
  X(uint64_t, max_rcomp, 0, "largest rcomp of an active message")

#define LCI_PACKET_POOL_ATTRS(X)                                                                   \
  X(size_t, packet_size, 8192, "bytes of a packet, which bounds what is sent by copy (but see shm_eager_size); 256 to 65536") \
  X(size_t, npackets, 65536, "packets of a pool at most; they take memory when first used")

#define LCI_PACKET_POOL_READONLY_ATTRS(X)

#define LCI_MATCHING_ENGINE_ATTRS(X)                                                               \
  X(attr_matching_engine_type_t, matching_engine_type, attr_matching_engine_type_t::map, "how entries are kept")

#define LCI_MATCHING_ENGINE_READONLY_ATTRS(X)

#define LCI_COMP_ATTRS(X)                                                                          \
  X(int, sync_threshold, 1, "signals that a synchronizer waits for, at least 1")                   \
  X(bool, zero_copy_am, false, "active messages arrive in packets, to be given back by put_upacket") \
  X(bool, lend_am, false, "the bytes of active messages stay the library's, and can be read until signal() returns") \
  X(attr_cq_type_t, cq_type, attr_cq_type_t::lcrq, "design of a completion queue")                 \
  X(int, cq_default_length, 65536, "statuses that an array_atomic queue holds")                    \
  X(int, signal_nbits_event, 32, "bits of a signal's counter for events, 1 to 40; one bit tells when there are too many, and the other ones count parts of messages")

#define LCI_COMP_READONLY_ATTRS(X)                                                                 \
  X(attr_comp_type_t, comp_type, attr_comp_type_t::custom, "kind of the completion object")        \
  X(int64_t, signal_num_event, 0, "events that a signal waits for")

#define LCI_NET_CONTEXT_ATTRS(X)                                                                   \
  X(attr_backend_t, backend, attr_backend_t::none, "transport; none: shm if all ranks are on one host, else mixed: that between ranks of a host, and between hosts ibv where all have it, else ofi") \
  X(std::string, ofi_provider_name, "", "ofi: provider; empty: the best one available")            \
  X(size_t, max_msg_size, size_t{1} << 30, "bytes of one put or get at most; larger ones are split") \
  X(size_t, max_inject_size, 64, "no effect: the network says how many bytes it copies by itself") \
  X(int, ibv_gid_idx, -1, "ibv: index of the global identifier; -1: chosen")                       \
  X(bool, ibv_force_gid_auto_select, false, "ibv: choose it even on InfiniBand")                   \
  X(int, ibv_eager_ranks, 64, "ibv: jobs of more ranks connect their queue pairs on first use, others at start") \
  X(std::string, device_name, "", "network interface; empty: the best one available")              \
  X(attr_ibv_odp_strategy_t, ibv_odp_strategy, attr_ibv_odp_strategy_t::none, "ibv: on-demand paging") \
  X(attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy, attr_ibv_prefetch_strategy_t::none, "ibv: prefetching of paged memory") \
  X(size_t, max_registrations, 0, "registrations with the network of a net context at most, of which a piece of memory may need one a device; 0: as many as the network has room for") \
  X(bool, use_dmabuf, true, "no effect: accelerators' memory is not registered")

#define LCI_NET_CONTEXT_READONLY_ATTRS(X)                                                          \
  X(bool, support_putimm, true, "the network can tell the target of a put by itself")

#define LCI_DEVICE_ATTRS(X)                                                                        \
  X(size_t, net_max_sends, 1024, "operations under way at most, where the network has a queue for them") \
  X(size_t, net_max_recvs, 4096, "receives posted ahead, where the network needs them")            \
  X(size_t, net_max_cqes, 65536, "entries of the network's completion queue, where it has one")    \
  X(double, net_send_reserved_pct, 0.25, "part of net_max_sends kept for answers to peers, 0 to 0.9") \
  X(uint64_t, ofi_lock_mode, 0, "no effect: calls that need a lock have one. A mask of LCI_NET_TRYLOCK_SEND and so on") \
  X(size_t, ofi_gather_size, size_t{64} << 10, "ofi: bytes of a packet in which small messages to one rank gather while others are on the way there: over TCP packets are made so large (tcp;ofi_rxm: 16 KiB at most; smaller in jobs of many ranks), elsewhere no larger than for one message; 0: each leaves by itself") \
  X(size_t, ofi_piece_size, 0, "ofi, over TCP: bytes of a large message that are written at once; 0: 480 KiB where the kernel paces what it sends (congestion control bbr), else all") \
  X(bool, alloc_default_endpoint, true, "make a default endpoint with the device")                 \
  X(bool, alloc_progress_endpoint, false, "no effect: progress never waits for the endpoints of those who post")              \
  X(bool, use_reg_cache, false, "keep registrations of buffers that the program has not registered, for use again; only if their memory stays mapped as long as the net context") \
  X(attr_ibv_td_strategy_t, ibv_td_strategy, attr_ibv_td_strategy_t::per_qp, "ibv: thread domains") \
  X(size_t, shm_eager_size, size_t{32} << 10, "shm: messages of up to so many bytes are sent by copy, even if a packet holds less; at most what a quarter of a ring holds, which has 8 MiB divided by the ranks, but 64 to 256 KiB") \
  X(size_t, shm_joint_copy_size, size_t{32} << 10, "shm: from so many bytes on both ranks of a send copy at the same time, each a part or one into a ring that the other copies out of, whichever has been faster lately; below, the sender alone") \
  X(bool, shm_enable, true, "no effect: ranks of one host use shared memory unless the backend attribute names a network") \
  X(size_t, shm_ring_size, size_t{64} << 10, "no effect: rings have 8 MiB divided by the ranks, but 64 to 256 KiB") \
  X(size_t, shm_slot_size, 128, "no effect: messages in rings have the size that they need")       \
  X(size_t, shm_producer_cas_attempts, 4, "no effect: each ring has one writer at a time")         \
  X(size_t, shm_consumer_cas_attempts, 1, "no effect: each ring has one reader at a time")         \
  X(size_t, shm_max_polls, 16, "no effect: a call of progress takes up to 16 completions of a device, whichever network they are from") \
  X(int, am_poll_mask, 15, "who makes progress on the device serves the default one, too, if nobody else does, each time that the number of polls and this mask have no bit in common; 2^n - 1, or -1: never") \
  X(int, signal_level, -1, "support level of signals (UNR), 0 to 4, equal on all ranks; -1: the best that the network has") \
  X(bool, progress_thread, false, "a thread of the library makes progress on the device: for programs that only wait for signals. With nothing to do it sleeps: through ibv and most providers of ofi (tcp;ofi_rxm, sockets) until the network tells that something has come, else for up to a millisecond at a time") \
  X(bool, progress_yield, true, "calls of progress on the device that find nothing, a hundred of them in a row, give the processor to other threads that wait for it; false: a thread that polls the device gives it away only in calls that block")

#define LCI_DEVICE_READONLY_ATTRS(X)                                                               \
  X(int, uid, -1, "number of the device within its net context, in the order of allocation")       \
  X(uint64_t, max_signals, 0, "signals of a rank that puts reach in the fastest way; those made later cost a message more") \
  X(uint64_t, max_signal_parts, 0, "rails that one put to a signal is spread over at most")        \
  X(bool, signal_needs_progress, true, "somebody must make progress at the target before a put counts there")

#define LCI_MR_ATTRS(X)
#define LCI_MR_READONLY_ATTRS(X)

#define LCI_PLAN_ATTRS(X)
#define LCI_PLAN_READONLY_ATTRS(X)                                                                 \
  X(size_t, plan_size, 0, "puts and gets recorded")

#define LCI_ENDPOINT_ATTRS(X)
#define LCI_ENDPOINT_READONLY_ATTRS(X)                                                             \
  X(int, uid, -1, "number of the endpoint within its device, in the order of allocation")

// Those that have a global default.
#define LCI_GLOBAL_ATTRS(X)     \
  LCI_RUNTIME_ATTRS(X)          \
  LCI_PACKET_POOL_ATTRS(X)      \
  LCI_MATCHING_ENGINE_ATTRS(X)  \
  LCI_COMP_ATTRS(X)             \
  LCI_NET_CONTEXT_ATTRS(X)      \
  LCI_DEVICE_ATTRS(X)

// Everything that is made once per resource: X(resource, RESOURCE).
#define LCI_RESOURCES(X)                  \
  X(runtime, RUNTIME)                     \
  X(packet_pool, PACKET_POOL)             \
  X(matching_engine, MATCHING_ENGINE)     \
  X(comp, COMP)                           \
  X(net_context, NET_CONTEXT)             \
  X(device, DEVICE)                       \
  X(mr, MR)                               \
  X(plan, PLAN)                           \
  X(endpoint, ENDPOINT)
// clang-format on

#pragma GCC visibility push(default)

namespace lci {

#define LCI_ATTR_FIELD(type_, name_, default_, doc_) type_ name_ = default_;

// runtime_attr_t, device_attr_t, ...
#define LCI_ATTR_STRUCT(resource_, RESOURCE_)                                                      \
  struct resource_##_attr_t {                                                                      \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_FIELD) LCI_##RESOURCE_##_READONLY_ATTRS(LCI_ATTR_FIELD) const \
        char* name = DEFAULT_NAME;                                                                 \
    void* user_context = nullptr;                                                                  \
  };
LCI_RESOURCES(LCI_ATTR_STRUCT)

// The default of every settable attribute.
struct global_attr_t {
  LCI_GLOBAL_ATTRS(LCI_ATTR_FIELD)
};

#undef LCI_ATTR_STRUCT
#undef LCI_ATTR_FIELD

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_ATTR_HPP_
