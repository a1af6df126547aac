#include "lci/io/handshake.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "lci/base/hmac.h"
#include "lci/base/strings.h"

namespace lci::io {
namespace {

constexpr protocol one = {0x31313131, 1, "one", "server one"};
constexpr protocol two = {0x32323232, 1, "two", "server two"};

TEST(handshake, both_ends_have_the_token) {
  for (const std::string& token :
       {std::string("token"), std::string(), std::string(64, 'x'), std::string("a\0b", 3)}) {
    client_handshake client(one, token);
    server_handshake server(one, token);
    ASSERT_EQ(client.challenge().size(), nonce_size);
    const std::string proof = server.answer(client.challenge());
    ASSERT_TRUE(client.check_proof(proof));
    const std::string hello = client.hello("the rest");
    EXPECT_TRUE(server.is_hello(hello));
    EXPECT_TRUE(server.check_hello(hello));
    EXPECT_EQ(hello.substr(code_size), "the rest");
  }
}

TEST(handshake, each_end_refuses_another_token) {
  for (const char* token : {"", "toke", "tokem", "Token", "token "}) {
    client_handshake client(one, "token");
    server_handshake other_server(one, token);
    EXPECT_FALSE(client.check_proof(other_server.answer(client.challenge()))) << token;

    // A client does not make a code for a server that it refuses, so the test makes it.
    server_handshake server(one, "token");
    const std::string nonce(nonce_size, 'n');
    const std::string message = base::StrCat("1111", std::string("\6\0\0\0", 4), "client", nonce,
                                             server.answer(nonce).substr(0, nonce_size));
    EXPECT_FALSE(server.check_hello(base::hmac_sha256(token, message))) << token;
    EXPECT_TRUE(server.check_hello(base::hmac_sha256("token", message)));
  }
}

TEST(handshake, every_bit_of_a_code_counts) {
  client_handshake client(one, "token");
  server_handshake server(one, "token");
  const std::string proof = server.answer(client.challenge());
  ASSERT_TRUE(client.check_proof(proof));
  const std::string hello = client.hello("");
  for (size_t i = 0; i < 8 * proof.size(); ++i) {
    std::string other = proof;
    other[i / 8] = static_cast<char>(other[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(client.check_proof(other)) << i;
  }
  for (size_t i = 0; i < 8 * code_size; ++i) {
    std::string other = hello;
    other[i / 8] = static_cast<char>(other[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(server.check_hello(other)) << i;
  }
}

TEST(handshake, bodies_of_a_wrong_size_are_refused) {
  client_handshake client(one, "token");
  server_handshake server(one, "token");
  EXPECT_FALSE(server.is_hello(std::string(code_size, 'x')));  // before the challenge
  for (const size_t size : {size_t{0}, nonce_size - 1, nonce_size + 1}) {
    EXPECT_EQ(server.answer(std::string(size, 'n')), "");
  }
  const std::string proof = server.answer(client.challenge());
  EXPECT_EQ(server.answer(client.challenge()), "");  // a second challenge
  EXPECT_FALSE(client.check_proof(""));
  EXPECT_FALSE(client.check_proof(proof.substr(1)));
  EXPECT_FALSE(client.check_proof(proof + "x"));
  ASSERT_TRUE(client.check_proof(proof));
  EXPECT_FALSE(server.is_hello(client.hello("").substr(1)));
  EXPECT_FALSE(server.check_hello(client.hello("").substr(1)));
}

// A recorded frame is of no use in another connection, direction or protocol.
TEST(handshake, a_code_is_of_one_connection_direction_and_protocol) {
  client_handshake client(one, "token");
  server_handshake server(one, "token");
  const std::string proof = server.answer(client.challenge());
  ASSERT_TRUE(client.check_proof(proof));
  const std::string hello = client.hello("");

  server_handshake later(one, "token");
  const std::string later_proof = later.answer(client.challenge());  // the same challenge
  EXPECT_NE(later_proof, proof);
  EXPECT_FALSE(later.check_hello(hello));
  client_handshake later_client(one, "token");
  EXPECT_NE(later_client.challenge(), client.challenge());
  EXPECT_FALSE(later_client.check_proof(proof));

  EXPECT_FALSE(server.check_hello(proof.substr(nonce_size)));  // reflected

  client_handshake client_two(two, "token");
  server_handshake server_two(two, "token");
  EXPECT_FALSE(client_two.check_proof(server.answer(client_two.challenge())));
  server_handshake third(one, "token");
  EXPECT_FALSE(client_two.check_proof(third.answer(client_two.challenge())));
}

TEST(handshake, the_token_is_in_no_frame) {
  const std::string token = "0123456789abcdef";
  client_handshake client(one, token);
  server_handshake server(one, token);
  const std::string proof = server.answer(client.challenge());
  ASSERT_TRUE(client.check_proof(proof));
  const std::string all = base::StrCat(client.challenge(), proof, client.hello("rest"));
  for (size_t i = 0; i + 4 <= token.size(); ++i) {
    EXPECT_EQ(all.find(token.substr(i, 4)), std::string::npos);
  }
  EXPECT_EQ(all.find(base::sha256(token)), std::string::npos);
}

TEST(handshake, nonces_differ) {
  std::set<std::string> nonces;
  for (int i = 0; i < 100; ++i) {
    client_handshake client(one, "token");
    server_handshake server(one, "token");
    nonces.insert(client.challenge());
    nonces.insert(server.answer(client.challenge()).substr(0, nonce_size));
  }
  EXPECT_EQ(nonces.size(), 200u);
}

TEST(same_code, every_byte_and_the_length_count) {
  const std::string code = "0123456789abcdef";
  EXPECT_TRUE(same_code(code, std::string(code)));
  for (size_t i = 0; i < code.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = code;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(same_code(code, other)) << "byte " << i << ", bit " << bit;
    }
  }
  EXPECT_TRUE(same_code("", ""));
  EXPECT_FALSE(same_code("", "a"));
  EXPECT_FALSE(same_code("ab", "a"));
  EXPECT_FALSE(same_code("a", "ab"));
}

}  // namespace
}  // namespace lci::io
