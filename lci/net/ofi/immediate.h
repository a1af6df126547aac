#ifndef LCI_NET_OFI_IMMEDIATE_H_
#define LCI_NET_OFI_IMMEDIATE_H_

#include <cstddef>
#include <cstdint>

namespace lci::net::ofi {

// The immediate data of a write: the 32 bits of a put_imm and the rank of the sender. Providers
// transport 4 or 8 bytes. In 4 bytes the rank does not fit, since the runtime uses all 32 bits; a
// put_imm is then a put followed by a record.
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
