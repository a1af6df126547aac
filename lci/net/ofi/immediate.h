#ifndef LCI_NET_OFI_IMMEDIATE_H_
#define LCI_NET_OFI_IMMEDIATE_H_

#include <cstddef>
#include <cstdint>

namespace lci::net::ofi {

// What a write carries into the target's completion queue: the 32 bits of a put_imm and the rank
// that they come from. Providers have 4 or 8 bytes for it. With 4 the rank does not fit; it is not
// squeezed in: the bits are all the runtime's, and a put_imm is then a put with a record behind it.
class immediate_layout {
 public:
  // `bytes`: fi_domain_attr::cq_data_size.
  explicit immediate_layout(size_t bytes = 0) : fits_(bytes >= 8) {}

  bool fits() const { return fits_; }

  static uint64_t encode(int rank, uint32_t imm) {
    return static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 | imm;
  }
  static uint32_t rank(uint64_t data) { return static_cast<uint32_t>(data >> 32); }
  static uint32_t imm(uint64_t data) { return static_cast<uint32_t>(data); }

 private:
  bool fits_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_IMMEDIATE_H_
