// The shortest path of a post: a small operation that sends only immediate data besides its bytes
// is handed to the network in registers, has no state, and is complete when that returns.
//
// Three steps, which the compiler resolves for each kind: is it eligible, what is its immediate
// data, and the call of the network, which knows by itself how much it takes for that rank.
#ifndef LCI_RUNTIME_POST_SHORT_H_
#define LCI_RUNTIME_POST_SHORT_H_

#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"
#include "lci/net/op.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/post/transfer.h"

namespace lci::rt {

constexpr bool is_rma(transfer kind) { return kind == transfer::put || kind == transfer::get; }

// Sets what the network is asked for, for an operation without a local registration. False: the
// notification of the other rank does not fit into immediate data. A send is one of the default
// matching engine and policy.
template <transfer Kind>
[[gnu::always_inline]] inline bool encode_short(const device_impl_t& device, tag_t tag,
                                                rcomp_t rcomp, net::op_kind* kind,
                                                net_imm_data_t* imm) {
  static_assert(Kind != transfer::receive, "which posts nothing to the network");
  *imm = 0;
  if constexpr (Kind == transfer::send) {
    *kind = net::op_kind::send;
    *imm = encode_short_tagged(tag);
    return tag <= max_short_tag;
  } else if constexpr (Kind == transfer::get) {
    *kind = net::op_kind::get;
    return rcomp == 0;
  } else {
    *kind = Kind == transfer::am ? net::op_kind::send : net::op_kind::put;
    if (Kind == transfer::put && rcomp == 0) return true;
    if (Kind == transfer::put) *kind = net::op_kind::put_imm;
    const imm_layout& layout = device.runtime.imm();
    *imm = layout.encode(tag, rcomp);
    return __builtin_expect(layout.fits(tag, rcomp), 1) &&
           (Kind == transfer::am || device.has_put_imm32());
  }
}

// Posts it: done, fatal, or a retry code other than `retry` as the network says; or `retry` if it
// has to go another way, when nothing happened. `rmr` is that of a put or get, which is within its
// bounds.
template <transfer Kind>
[[gnu::always_inline]] inline error_t post_shortest(device_impl_t& device, int rank, void* buffer,
                                                    size_t size, tag_t tag, rcomp_t rcomp,
                                                    const rmr_t& rmr, uintptr_t remote_disp) {
  net::op_kind kind;
  net_imm_data_t imm;
  if (__builtin_expect(!encode_short<Kind>(device, tag, rcomp, &kind, &imm), 0)) {
    return errorcode_t::retry;
  }
  const net::short_op what(rank, kind);
  if constexpr (is_rma(Kind)) {
    if (__builtin_expect(size > device.max_rma(), 0)) return errorcode_t::retry;
    const net::remote_place where = {rmr_region(rmr), remote_disp};
    return device.net->post_short(what, imm, buffer, size, &where);
  } else {
    return device.net->post_short(what, imm, buffer, size, nullptr);
  }
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_SHORT_H_
