#include "lci/net/shm/told_put.h"

#include <cstring>

#include "lci/base/copy.h"
#include "lci/base/log.h"

namespace lci::net::shm {

told_put_result take_told_put(region_table& regions, int rank, const incoming& message,
                              completion* out) {
  told_put_header header;
  if (message.size < sizeof(header)) return told_put_result::malformed;
  std::memcpy(&header, message.bytes, sizeof(header));
  const size_t size = message.size - sizeof(header);
  const remote_region region{header.place & (directory_capacity - 1), header.key};
  const bool open = regions.use(region, header.place >> told_put_offset_shift, size, [&](void* to) {
    base::copy_bytes(to, message.bytes + sizeof(header), size);
  });
  if (!open) {
    LCI_LOG(error, "a put of rank ", rank, " came for memory that was closed meanwhile");
    return told_put_result::closed;
  }
  out->kind = completion_kind::remote_put;
  out->rank = rank;
  out->imm = message.imm;
  out->imm_high = 0;
  return told_put_result::told;
}

}  // namespace lci::net::shm
