#include "lci/io/handshake.h"

#include <utility>

#include "lci/base/hmac.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/bytes.h"

namespace lci::io {
namespace {

static_assert(code_size == base::digest_size);

std::string make_nonce() { return base::random_bytes(nonce_size); }

std::string code_of(std::string_view side, uint32_t magic, std::string_view token,
                    std::string_view nonces) {
  std::string message;
  append_le(&message, magic, 4);
  append_text(&message, side);
  message.append(nonces.data(), nonces.size());
  return base::hmac_sha256(token, message);
}

}  // namespace

client_handshake::client_handshake(const protocol& of, std::string token)
    : magic_(of.magic), token_(std::move(token)), nonce_(make_nonce()) {}

bool client_handshake::check_proof(std::string_view proof) {
  if (nonce_.empty() || proof.size() != nonce_size + code_size) return false;
  const std::string nonces = base::StrCat(nonce_, proof.substr(0, nonce_size));
  if (!same_code(proof.substr(nonce_size), code_of("server", magic_, token_, nonces))) return false;
  code_ = code_of("client", magic_, token_, nonces);
  return true;
}

std::string client_handshake::hello(std::string_view body) const {
  return base::StrCat(code_, body);
}

server_handshake::server_handshake(const protocol& of, std::string token)
    : magic_(of.magic), token_(std::move(token)) {}

std::string server_handshake::answer(std::string_view challenge) {
  if (!nonces_.empty() || challenge.size() != nonce_size) return "";
  const std::string nonce = make_nonce();
  if (nonce.empty()) return "";
  nonces_ = base::StrCat(challenge, nonce);
  return base::StrCat(nonce, code_of("server", magic_, token_, nonces_));
}

bool server_handshake::is_hello(std::string_view hello) const {
  return !nonces_.empty() && hello.size() >= code_size;
}

bool server_handshake::check_hello(std::string_view hello) const {
  return is_hello(hello) &&
         same_code(hello.substr(0, code_size), code_of("client", magic_, token_, nonces_));
}

bool same_code(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace lci::io
