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

// The place of the last inline_put_imm of a ring, which both ends remember.
struct put_place {
  remote_region region;
  uint64_t offset = 0;
  // For the sender: the length of the region plus 1, so that nothing lies within the initial 0.
  uint64_t end = 0;

  // Whether a next_put_imm can bring bytes to this place, which is in this region.
  bool reaches(const remote_place& to, size_t size) const {
    return to.region.key == region.key && to.region.base == region.base &&
           to.offset - offset < next_put_reach && to.offset + size < end;
  }
};

// `offset` is within the region (find_open).
inline inline_put_imm_header make_inline_put_imm(remote_region to, uint64_t offset) {
  return {to.key, to.base | offset << inline_put_imm_offset_shift};
}

// Writes bytes that a put of `rank` has brought. `completed`: they are in place. `nothing`: the memory
// was closed meanwhile, and the log says so. Thread safety: that of region_table::user.
[[gnu::always_inline]] inline take_result write_put(region_table::user& regions, int rank,
                                                    const remote_region& to, uint64_t offset,
                                                    const unsigned char* bytes, size_t size) {
  const region_table::user::use use(regions, to, offset, size);
  if (__builtin_expect(use.address() == nullptr, 0)) {
    report_closed_memory(rank);
    return take_result::nothing;
  }
  base::copy_bytes(use.address(), bytes, size);
  return take_result::completed;
}

// Takes the bytes of an inline_put_imm of `rank`, and remembers its place in *last. As write_put.
[[gnu::always_inline]] inline take_result take_inline_put_imm(region_table::user& regions, int rank,
                                                              const unsigned char* bytes,
                                                              size_t size, put_place* last) {
  inline_put_imm_header header;
  if (size < sizeof(header)) return take_result::malformed;
  std::memcpy(&header, bytes, sizeof(header));
  *last = {{header.place & (directory_capacity - 1), header.key},
           header.place >> inline_put_imm_offset_shift};
  return write_put(regions, rank, last->region, last->offset, bytes + sizeof(header),
                   size - sizeof(header));
}

// Takes the bytes of a next_put_imm of `rank`, whose word has this offset. As write_put.
[[gnu::always_inline]] inline take_result take_next_put_imm(region_table::user& regions, int rank,
                                                            const put_place& last, uint64_t offset,
                                                            const unsigned char* bytes,
                                                            size_t size) {
  return write_put(regions, rank, last.region, last.offset + offset, bytes, size);
}

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_INLINE_PUT_IMM_H_
