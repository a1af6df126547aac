// Checks of the arguments of a post. Every check throws std::invalid_argument; the code that throws
// is off the fast path.
#ifndef LCI_RUNTIME_POST_CHECKS_H_
#define LCI_RUNTIME_POST_CHECKS_H_

#include "lci/api/comm.hpp"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/buffer_size.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/post/transfer.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {

inline bool is_within(uintptr_t offset, size_t size, uint64_t all) {
  return offset <= all && size <= all - offset;
}

// Whether a registration, which is not MR_HOST, is an object of the device's net context and covers
// the local buffer: check_odd_mr() has nothing to refuse.
inline bool is_usual_mr(mr_t mr, const device_impl_t& device, const void* buffer, size_t size) {
  if (mr.is_empty()) return false;
  const mr_impl_t& impl = *mr.p_impl;
  const auto offset =
      reinterpret_cast<uintptr_t>(buffer) - reinterpret_cast<uintptr_t>(impl.address);
  return impl.is_live() && &impl.context == &device.context && is_within(offset, size, impl.size);
}

[[gnu::noinline]] void check_odd_rank(const post_args_t& args, transfer kind,
                                      const runtime_impl_t& runtime);
[[gnu::noinline]] void check_odd_matching(const post_args_t& args, transfer kind);
[[gnu::noinline]] void check_odd_mr(const post_args_t& args, const device_impl_t& device);

inline void check_rank(const post_args_t& args, transfer kind, const runtime_impl_t& runtime) {
  if (__builtin_expect(args.rank < 0 || args.rank >= runtime.size(), 0)) {
    check_odd_rank(args, kind, runtime);
  }
}

inline void check_buffer(const post_args_t& args, const device_impl_t& device) {
  if (__builtin_expect(args.local_buffer == nullptr && args.size > 0, 0)) {
    refuse(args, "local_buffer is null and size is ", args.size);
  }
  if (!(args.mr == MR_HOST) &&
      __builtin_expect(!is_usual_mr(args.mr, device, args.local_buffer, args.size), 0)) {
    check_odd_mr(args, device);
  }
}

// For an operation whose buffer is not used at once: short ones can't be so large. A receive uses
// no more of its buffer than the message has.
inline void check_size(const post_args_t& args) {
  if (__builtin_expect(args.size > max_buffer_bytes, 0)) {
    refuse(args, "size is ", args.size, ", more than the address space has");
  }
}

// `has_comp`: local_comp is an object.
template <class Args>
inline void check_comp(const Args& args, bool has_comp) {
  if (__builtin_expect(has_comp && !is_live(*args.local_comp.p_impl), 0)) {
    refuse(args, "local_comp has been freed");
  }
  if (__builtin_expect(!has_comp && !args.allow_done, 0)) {
    refuse(args, "allow_done(false) needs a completion object");
  }
}

inline void check_matching(const post_args_t& args, transfer kind) {
  if (__builtin_expect(args.matching_policy != matching_policy_t::rank_tag || args.tag == ANY_TAG,
                       0)) {
    check_odd_matching(args, kind);
  }
}

template <class Args>
[[noreturn, gnu::noinline, gnu::cold]] void refuse_remote_bounds(const Args& args) {
  refuse(args, args.size, " bytes from byte ", args.remote_disp, " on are beyond the end of rmr, ",
         rmr_size(args.rmr), " bytes");
}

template <class Args>
inline void check_remote(const Args& args) {
  if (__builtin_expect(!is_within(args.remote_disp, args.size, rmr_size(args.rmr)), 0)) {
    refuse_remote_bounds(args);
  }
}

// The packet whose bytes local_buffer is; null if it is none.
inline packet* find_packet(const post_args_t& args, device_impl_t& device) {
  packet_pool_impl_t* pool = &device.packets();  // lives as long as the device
  if (__builtin_expect(!args.packet_pool.is_empty(), 0)) {
    pool = args.packet_pool.p_impl;
    check_live(*pool, "packet pool");
  }
  packet* const found = pool->find(args.local_buffer);
  if (__builtin_expect(found != nullptr && args.size > pool->attr.packet_size, 0)) {
    refuse(args, "size is ", args.size, ", and local_buffer a packet of ", pool->attr.packet_size);
  }
  return found;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_CHECKS_H_
