// Puts with a notification of the target, to memory that is not mapped here, small enough for one
// message in the ring: the target writes the bytes where they belong when it polls, and nothing
// comes back. Neither side remembers anything of them.
#ifndef LCI_NET_SHM_INLINE_PUT_IMM_H_
#define LCI_NET_SHM_INLINE_PUT_IMM_H_

#include <cstdint>
#include <cstring>

#include "lci/base/copy.h"
#include "lci/net/op.h"
#include "lci/net/shm/message.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// `offset` is within the region (find_open).
inline inline_put_imm_header make_inline_put_imm(remote_region to, uint64_t offset) {
  return {to.key, to.base | offset << inline_put_imm_offset_shift};
}

// Takes the bytes of an inline_put_imm of `rank`. `completed`: they are in place. `nothing`: the
// memory was closed meanwhile, and the log says so. Thread safety: that of region_table::user.
[[gnu::always_inline]] inline take_result take_inline_put_imm(region_table::user& regions, int rank,
                                                              const unsigned char* bytes,
                                                              size_t size) {
  inline_put_imm_header header;
  if (size < sizeof(header)) return take_result::malformed;
  std::memcpy(&header, bytes, sizeof(header));
  const size_t written = size - sizeof(header);
  const region_table::user::use use(regions, {header.place & (directory_capacity - 1), header.key},
                                    header.place >> inline_put_imm_offset_shift, written);
  if (__builtin_expect(use.address() == nullptr, 0)) {
    report_closed_memory(rank);
    return take_result::nothing;
  }
  base::copy_bytes(use.address(), bytes + sizeof(header), written);
  return take_result::completed;
}

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_INLINE_PUT_IMM_H_
