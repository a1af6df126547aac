#include "lci/net/shm/inline_put_imm.h"

#include <cstring>

#include "lci/base/copy.h"

namespace lci::net::shm {

take_result take_inline_put_imm(region_table& regions, int rank, const incoming& message,
                                completion* out) {
  inline_put_imm_header header;
  if (message.size < sizeof(header)) return take_result::malformed;
  std::memcpy(&header, message.bytes, sizeof(header));
  const size_t size = message.size - sizeof(header);
  const remote_region region{header.place & (directory_capacity - 1), header.key};
  const bool open =
      regions.use(region, header.place >> inline_put_imm_offset_shift, size,
                  [&](void* to) { base::copy_bytes(to, message.bytes + sizeof(header), size); });
  if (!open) {
    report_closed_memory(rank);
    return take_result::nothing;
  }
  out->kind = completion_kind::remote_put;
  out->rank = rank;
  out->imm = message.imm;
  out->imm_high = 0;
  return take_result::completed;
}

}  // namespace lci::net::shm
