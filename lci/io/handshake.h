// Proves, to both ends of a connection, that the other end has the token of the job.
//
// The side that connects is the client. After the preambles:
//
//   kind        direction  body
//   challenge   to server  nonce of the client
//   proof       to client  nonce of the server, code of the server
//   hello       to server  code of the client, then what the protocol defines
//   refused     to client  text: why. The connection ends.
//
//   nonce   16 random bytes
//   code    32 bytes: HMAC-SHA-256, under the token, of the magic of the protocol, the side, the
//           client's nonce and the server's nonce
//
// This is a challenge and response in both directions (ISO/IEC 9798-4, three pass mutual
// authentication). The token is never sent. Both nonces enter each code, so that recorded frames
// are of no use in another connection; the side and the magic, so that no code is valid in the
// other direction or in another protocol. The server proves itself first: a client sends its hello
// only to the server of its job.
//
// An attacker can guess tokens, and try each against the recorded frames. A random token
// of 128 bits cannot be guessed. An attacker who can also change what is sent takes over a
// connection after its handshake, because frames are not signed.
#ifndef LCI_IO_HANDSHAKE_H_
#define LCI_IO_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lci/io/framing.h"

namespace lci::io {

namespace handshake_kind {
constexpr uint8_t challenge = 240;
constexpr uint8_t proof = 241;
constexpr uint8_t hello = 242;
constexpr uint8_t refused = 243;
}  // namespace handshake_kind

constexpr size_t max_token_size = 64;  // of LCI_BOOT_TOKEN
constexpr size_t nonce_size = 16;
constexpr size_t code_size = 32;
// The largest body from or to an end that has not proved anything.
constexpr size_t max_handshake_body = 1024;
constexpr size_t max_hello_size = max_handshake_body - code_size;

// The texts for a wrong token: from the server to the client, and from the client to its user.
constexpr std::string_view client_has_wrong_token =
    "its token is not this job's; check LCI_BOOT_TOKEN and LCI_BOOT_ADDR";
constexpr std::string_view server_has_wrong_token =
    "the server's token is not this job's; check LCI_BOOT_TOKEN and LCI_BOOT_ADDR";

// One side of one handshake. Thread safety: one thread at a time.
class client_handshake {
 public:
  client_handshake(const protocol& of, std::string token);
  // The body of the challenge. Empty: the kernel gives no random bytes.
  const std::string& challenge() const { return nonce_; }
  // Whether the body of a proof shows that the server has the token.
  bool check_proof(std::string_view proof);
  // The body of the hello; after check_proof() was true.
  std::string hello(std::string_view body) const;

 private:
  const uint32_t magic_;
  const std::string token_;
  const std::string nonce_;
  std::string code_;
};

class server_handshake {
 public:
  server_handshake(const protocol& of, std::string token);
  // The body of the proof. Empty: the challenge is malformed, or not the first one, or the kernel
  // gives no random bytes.
  std::string answer(std::string_view challenge);
  // Whether there was a challenge, and `hello` begins with a code.
  bool is_hello(std::string_view hello) const;
  // Whether the body of a hello shows that the client has the token.
  bool check_hello(std::string_view hello) const;

 private:
  const uint32_t magic_;
  const std::string token_;
  std::string nonces_;  // of the client and of the server; empty before the challenge
};

// Compares in a time that depends only on the lengths.
bool same_code(std::string_view a, std::string_view b);

}  // namespace lci::io

#endif  // LCI_IO_HANDSHAKE_H_
