// The secret of a job.
#ifndef LCI_BOOT_TOKEN_H_
#define LCI_BOOT_TOKEN_H_

#include <cstddef>
#include <string_view>

namespace lci::boot {

// Compares in a time that depends only on the length.
inline bool same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace lci::boot

#endif  // LCI_BOOT_TOKEN_H_
