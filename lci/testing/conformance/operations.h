// Operations and data that the parts of the suite share.
#ifndef LCI_TESTING_CONFORMANCE_OPERATIONS_H_
#define LCI_TESTING_CONFORMANCE_OPERATIONS_H_

#include <chrono>
#include <cstddef>
#include <vector>

#include "lci/net/backend.h"
#include "lci/net/op.h"

namespace lci::net::conformance {

inline constexpr std::chrono::seconds patience{120};
// How long a rank polls in vain before its test fails. All that the suite waits for takes
// milliseconds.
inline constexpr std::chrono::seconds longest_silence{60};
inline constexpr size_t max_message = 8192;

inline void ignore(const completion&) {}

// All bits of the immediate data that a put_imm carries.
inline net_imm_data_t imm_mask(const device& dev) {
  const int bits = dev.limits().put_imm_bits;
  return bits >= 32 ? ~net_imm_data_t{0} : (net_imm_data_t{1} << bits) - 1;
}

inline op make_send(int to, const void* bytes, size_t size, net_imm_data_t imm) {
  op send;
  send.kind = op_kind::send;
  send.inject = true;
  send.rank = to;
  send.buffer = const_cast<void*>(bytes);
  send.size = size;
  send.imm = imm;
  return send;
}

inline unsigned char pattern(int rank, size_t seed, size_t i) {
  return static_cast<unsigned char>(static_cast<size_t>(rank) * 37 + seed * 11 + i);
}

inline std::vector<unsigned char> make_bytes(int rank, size_t seed, size_t size) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = pattern(rank, seed, i);
  return bytes;
}

inline bool has_bytes(const void* bytes, int rank, size_t seed, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (static_cast<const unsigned char*>(bytes)[i] != pattern(rank, seed, i)) return false;
  }
  return true;
}

}  // namespace lci::net::conformance

#endif  // LCI_TESTING_CONFORMANCE_OPERATIONS_H_
