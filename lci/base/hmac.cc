#include "lci/base/hmac.h"

#include <array>
#include <cstdint>

namespace lci::base {
namespace {

constexpr size_t block_size = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using hash_state = std::array<uint32_t, 8>;

// The first 32 bits of the fractional parts of the square roots of the first 8 primes.
constexpr hash_state initial_state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr uint32_t rotate(uint32_t word, unsigned bits) {
  return word >> bits | word << (32 - bits);
}

uint32_t load_be(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

void append_be(std::string* to, uint64_t number, unsigned bytes) {
  while (bytes-- > 0) to->push_back(static_cast<char>(number >> (8 * bytes) & 0xff));
}

// The compression function, for one block.
void compress(std::string_view block, hash_state* hash) {
  std::array<uint32_t, 64> schedule;
  for (size_t i = 0; i < 16; ++i) schedule[i] = load_be(block.substr(4 * i));
  for (size_t i = 16; i < schedule.size(); ++i) {
    const uint32_t near = schedule[i - 2];
    const uint32_t far = schedule[i - 15];
    schedule[i] = schedule[i - 16] + (rotate(far, 7) ^ rotate(far, 18) ^ far >> 3) +
                  schedule[i - 7] + (rotate(near, 17) ^ rotate(near, 19) ^ near >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = *hash;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                           ((e & f) ^ (~e & g)) + round_constants[i] + schedule[i];
    const uint32_t second =
        (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const hash_state added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < hash->size(); ++i) (*hash)[i] += added[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  // A one bit, zeros up to the last 8 bytes of a block, and the number of bits.
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % block_size != block_size - 8) padded += '\0';
  append_be(&padded, uint64_t{bytes.size()} * 8, 8);
  hash_state hash = initial_state;
  for (size_t i = 0; i < padded.size(); i += block_size) {
    compress(std::string_view(padded).substr(i, block_size), &hash);
  }
  std::string digest;
  for (const uint32_t word : hash) append_be(&digest, word, 4);
  return digest;
}

std::string hmac_sha256(std::string_view secret, std::string_view message) {
  std::string key = secret.size() > block_size ? sha256(secret) : std::string(secret);
  key.resize(block_size, '\0');
  std::string inner = key;
  std::string outer = key;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return sha256(outer + sha256(inner.append(message)));
}

}  // namespace lci::base
