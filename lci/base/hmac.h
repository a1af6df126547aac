// Message authentication: HMAC-SHA-256 (FIPS 180-4, RFC 2104), by which a process proves that it
// has a secret without sending the secret.
//
// For set-up, not for the path of a message. Thread safety: any thread at any time.
#ifndef LCI_BASE_HMAC_H_
#define LCI_BASE_HMAC_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lci::base {

constexpr size_t digest_size = 32;

// The digest of `bytes`, digest_size bytes (not text).
std::string sha256(std::string_view bytes);

// The authentication code of `message` under the key `secret`, digest_size bytes (not text).
std::string hmac_sha256(std::string_view secret, std::string_view message);

}  // namespace lci::base

#endif  // LCI_BASE_HMAC_H_
