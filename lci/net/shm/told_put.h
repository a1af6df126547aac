// Puts that the target is told of, to memory that is not mapped here, and so small that they go
// through the ring in one message: the target writes the bytes where they belong when it polls, and
// nothing comes back. Neither side remembers anything of them.
#ifndef LCI_NET_SHM_TOLD_PUT_H_
#define LCI_NET_SHM_TOLD_PUT_H_

#include <cstdint>

#include "lci/net/op.h"
#include "lci/net/shm/message.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// `offset` is within the region (find_open).
inline told_put_header make_told_put(remote_region to, uint64_t offset) {
  return {to.key, to.base | offset << told_put_offset_shift};
}

enum class told_put_result {
  told,       // the bytes are in place, and *out says so
  closed,     // the memory was closed meanwhile: nothing happened (the log says it)
  malformed,  // no told_put can be so
};
// What came of `rank`. Thread safety: that of region_table::use.
told_put_result take_told_put(region_table& regions, int rank, const incoming& message,
                              completion* out);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_TOLD_PUT_H_
