#include "tools/launcher/authentication.h"

#include <sys/random.h>

#include "lci/base/hmac.h"
#include "lci/base/strings.h"

namespace lci::launcher {

std::string make_nonce() {
  std::string nonce(nonce_size, '\0');
  const bool is_random =
      getrandom(nonce.data(), nonce.size(), 0) == static_cast<ssize_t>(nonce.size());
  return is_random ? nonce : "";
}

std::string proof_of_lcrun(std::string_view token, std::string_view nonces) {
  return base::hmac_sha256(token, base::StrCat("lcrun ", nonces));
}

std::string proof_of_helper(std::string_view token, std::string_view nonces) {
  return base::hmac_sha256(token, base::StrCat("helper ", nonces));
}

}  // namespace lci::launcher
