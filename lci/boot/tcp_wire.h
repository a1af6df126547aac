// The wire of the TCP bootstrap, on one page. Every number is little-endian.
//
// A connection begins with one preamble in each direction, the rank's first; then frames follow.
//
//   preamble    bits  0..31  magic "LCIB"
//   (8 bytes)   bits 32..47  version
//               bits 48..63  zero
//
//   header      word 0  bits  0..47  bytes of the body that follows
//   (16 bytes)          bits 48..55  kind
//                       bits 56..63  zero
//               word 1  bits  0..31  request: chosen by the rank, repeated in the reply
//                       bits 32..63  zero
//
//   kind             direction  body                                           answered by
//   hello            to server  u32 rank, u32 size, u32 local rank,            reply: welcome
//                               u32 local size (0: the server counts),
//                               text token, text node name
//   put              to server  text key, text value                           reply: nothing
//   get              to server  text key                                       reply: the value
//   enter_barrier    to server  text name                                      reply: nothing
//   enter_allgather  to server  text name, text value                          reply: size texts
//   cancel           to server  nothing; request is the one to give up         reply: deadline
//   abort            to server  the reason                                     aborted
//   leave            to server  nothing                                        the end
//   reply            to rank    u8 code, then as above, or the error's text; before that of
//                               `unavailable`: u32, the first rank that is lost
//   aborted          to rank    u32 rank (no_rank: the launcher), the reason   (request is 0)
//
//   welcome     u32 local rank, u32 local size, text job id
//   text        u32 size, then as many bytes; a text that ends a body and is described above in
//               words ("the value", "the reason") has no size and extends to the end of the body
//
// The preamble and the header keep their format in all versions; everything else may change with
// the version.
#ifndef LCI_BOOT_TCP_WIRE_H_
#define LCI_BOOT_TCP_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lci/base/bits.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot::tcp_wire {

constexpr uint16_t version = 2;
constexpr uint32_t magic = 0x4249434c;  // the bytes L C I B
constexpr uint32_t no_rank = 0xffffffff;

enum class kind : uint8_t {
  hello = 1,
  put = 2,
  get = 3,
  enter_barrier = 4,
  enter_allgather = 5,
  cancel = 6,
  abort = 7,
  leave = 8,
  reply = 16,
  aborted = 17,
};

enum class code : uint8_t {
  ok = 0,
  already_exists = 1,
  deadline_exceeded = 2,
  unavailable = 3,
  refused = 4,  // of a hello: the connection ends
};

// Words.

inline void append_le(std::string* out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

inline uint64_t load_le(const char* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return value;
}

// Preamble.

constexpr size_t preamble_size = 8;
using preamble_magic = base::bit_field<0, 32>;
using preamble_version = base::bit_field<32, 16>;
using preamble_zero = base::bit_field<48, 16>;
static_assert(base::disjoint<preamble_magic, preamble_version, preamble_zero>());
static_assert(preamble_magic::width + preamble_version::width + preamble_zero::width ==
              8 * preamble_size);

inline void append_preamble(std::string* out) {
  append_le(out, preamble_magic::encode(magic) | preamble_version::encode(version), preamble_size);
}

enum class preamble_check { ok, not_ours, other_version };

inline preamble_check check_preamble(const char* at, unsigned* peer_version) {
  const uint64_t word = load_le(at, preamble_size);
  *peer_version = static_cast<unsigned>(preamble_version::decode(word));
  if (preamble_magic::decode(word) != magic) return preamble_check::not_ours;
  if (*peer_version != version) return preamble_check::other_version;
  return preamble_zero::decode(word) == 0 ? preamble_check::ok : preamble_check::not_ours;
}

// Header.

constexpr size_t header_size = 16;
using header_body_size = base::bit_field<0, 48>;
using header_kind = base::bit_field<48, 8>;
using header_zero = base::bit_field<56, 8>;
using header_request = base::bit_field<0, 32>;
using header_zero2 = base::bit_field<32, 32>;
static_assert(base::disjoint<header_body_size, header_kind, header_zero>());
static_assert(base::disjoint<header_request, header_zero2>());
static_assert(header_body_size::width + header_kind::width + header_zero::width +
                  header_request::width + header_zero2::width ==
              8 * header_size);

struct header {
  uint64_t body_size = 0;
  tcp_wire::kind kind{};
  uint32_t request = 0;
};

inline void append_header(std::string* out, const header& h) {
  append_le(
      out,
      header_body_size::encode(h.body_size) | header_kind::encode(static_cast<uint8_t>(h.kind)), 8);
  append_le(out, header_request::encode(h.request), 8);
}

// Returns false if bits that are zero in this version are set.
inline bool decode_header(const char* at, header* h) {
  const uint64_t first = load_le(at, 8);
  const uint64_t second = load_le(at + 8, 8);
  h->body_size = header_body_size::decode(first);
  h->kind = static_cast<tcp_wire::kind>(header_kind::decode(first));
  h->request = static_cast<uint32_t>(header_request::decode(second));
  return header_zero::decode(first) == 0 && header_zero2::decode(second) == 0;
}

// Bodies.

inline void append_text(std::string* out, std::string_view text) {
  append_le(out, text.size(), 4);
  out->append(text.data(), text.size());
}

// Reads a body from front to back. Reading past the end gives zeros and makes ok() false.
class body_reader {
 public:
  explicit body_reader(std::string_view body) : rest_(body) {}

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  std::string_view text() { return take(u32()); }
  std::string_view rest() { return take(rest_.size()); }

  bool ok() const { return ok_; }
  // ok, and nothing is left over.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  uint64_t number(size_t bytes) {
    const std::string_view taken = take(bytes);
    return taken.size() == bytes ? load_le(taken.data(), bytes) : 0;
  }

  std::string_view take(size_t bytes) {
    if (bytes > rest_.size()) {
      ok_ = false;
      rest_ = {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  bool ok_ = true;
};

struct hello {
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t local_rank = 0;
  uint32_t local_size = 0;
  std::string_view token;
  std::string_view node;
};

inline std::string encode_hello(const hello& h) {
  std::string body;
  for (uint32_t number : {h.rank, h.size, h.local_rank, h.local_size}) append_le(&body, number, 4);
  append_text(&body, h.token);
  append_text(&body, h.node);
  return body;
}

inline bool decode_hello(std::string_view body, hello* h) {
  body_reader reader(body);
  for (uint32_t* number : {&h->rank, &h->size, &h->local_rank, &h->local_size}) {
    *number = reader.u32();
  }
  h->token = reader.text();
  h->node = reader.text();
  return reader.complete();
}

struct welcome {
  uint32_t local_rank = 0;
  uint32_t local_size = 0;
  std::string_view job_id;
};

inline void append_welcome(std::string* out, const welcome& w) {
  append_le(out, w.local_rank, 4);
  append_le(out, w.local_size, 4);
  append_text(out, w.job_id);
}

inline bool decode_welcome(std::string_view body, welcome* w) {
  body_reader reader(body);
  w->local_rank = reader.u32();
  w->local_size = reader.u32();
  w->job_id = reader.text();
  return reader.complete();
}

// Limits. Each is a sum of what the largest legal body holds.

constexpr size_t max_token_size = 64;
constexpr size_t max_node_size = 512;
constexpr size_t max_reason_size = 4096;
constexpr size_t max_hello_size = 4 * 4 + (4 + max_token_size) + (4 + max_node_size);
// Limit for frames to the server: enter_allgather and put are the largest.
constexpr size_t max_body_size = (4 + bootstrap::max_key_size) + (4 + bootstrap::max_value_size);
static_assert(max_hello_size <= max_body_size && max_reason_size <= max_body_size);
// Limit for frames to a rank: the answer to an allgather, or the text of an error.
constexpr uint64_t max_reply_size(int job_size) {
  return 1 + static_cast<uint64_t>(job_size) * (4 + bootstrap::max_value_size) + 4096;
}

}  // namespace lci::boot::tcp_wire

#endif  // LCI_BOOT_TCP_WIRE_H_
