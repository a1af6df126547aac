// Puts with a notification of the target, to memory that is not mapped here, small enough for one
// message in the ring: the target writes the bytes where they belong when it polls, and nothing
// comes back. Neither side remembers anything of them.
#ifndef LCI_NET_SHM_INLINE_PUT_IMM_H_
#define LCI_NET_SHM_INLINE_PUT_IMM_H_

#include <cstdint>

#include "lci/net/op.h"
#include "lci/net/shm/message.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// `offset` is within the region (find_open).
inline inline_put_imm_header make_inline_put_imm(remote_region to, uint64_t offset) {
  return {to.key, to.base | offset << inline_put_imm_offset_shift};
}

// Takes an inline_put_imm of `rank`. `nothing`: the memory was closed meanwhile, and the log says
// so. Thread safety: that of region_table::use.
take_result take_inline_put_imm(region_table& regions, int rank, const incoming& message,
                                completion* out);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_INLINE_PUT_IMM_H_
