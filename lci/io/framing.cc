#include "lci/io/framing.h"

#include <utility>

#include "lci/base/bits.h"
#include "lci/base/strings.h"
#include "lci/io/bytes.h"

namespace lci::io {
namespace {

using preamble_magic = base::bit_field<0, 32>;
using preamble_version = base::bit_field<32, 16>;
using preamble_zero = base::bit_field<48, 16>;
static_assert(base::disjoint<preamble_magic, preamble_version, preamble_zero>());
static_assert(preamble_magic::width + preamble_version::width + preamble_zero::width ==
              8 * preamble_size);

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

// Returns false if bits that are zero in this version are set.
bool decode_header(const char* at, frame_header* header) {
  const uint64_t first = load_le(at, 8);
  const uint64_t second = load_le(at + 8, 8);
  header->body_size = header_body_size::decode(first);
  header->kind = static_cast<uint8_t>(header_kind::decode(first));
  header->request = static_cast<uint32_t>(header_request::decode(second));
  return header_zero::decode(first) == 0 && header_zero2::decode(second) == 0;
}

}  // namespace

void append_preamble(std::string* out, const protocol& of) {
  append_le(out, preamble_magic::encode(of.magic) | preamble_version::encode(of.version),
            preamble_size);
}

void append_header(std::string* out, const frame_header& header) {
  append_le(out, header_body_size::encode(header.body_size) | header_kind::encode(header.kind), 8);
  append_le(out, header_request::encode(header.request), 8);
}

void append_frame(std::string* out, uint8_t kind, uint32_t request, std::string_view body) {
  append_header(out, {body.size(), kind, request});
  out->append(body.data(), body.size());
}

void frame_reader::add(std::string_view received) {
  in_.erase(0, std::exchange(used_, 0));
  in_.append(received.data(), received.size());
}

frame_reader::item frame_reader::next(uint64_t max_body, frame_header* header,
                                      std::string_view* body) {
  if (!error_.ok()) return item::invalid;
  const std::string_view rest = std::string_view(in_).substr(used_);
  if (!has_preamble_) {
    if (rest.size() < preamble_size) return item::none;
    const uint64_t word = load_le(rest.data(), preamble_size);
    if (preamble_magic::decode(word) != protocol_.magic || preamble_zero::decode(word) != 0) {
      return invalid(base::FailedPreconditionError(
          base::StrCat("what answers there is not ", protocol_.server, "; check the address")));
    }
    has_preamble_ = true;
    used_ += preamble_size;
    const auto version = static_cast<uint16_t>(preamble_version::decode(word));
    if (version != protocol_.version) {
      invalid(base::FailedPreconditionError(
          base::StrCat("the other end speaks version ", version, " of the ", protocol_.name,
                       " protocol, this process version ", protocol_.version,
                       "; use one release of lcrun and the library everywhere")));
    }
    return item::preamble;
  }
  if (rest.size() < header_size) return item::none;
  frame_header found;
  if (!decode_header(rest.data(), &found)) {
    return invalid(base::InvalidArgumentError("it sent a malformed frame"));
  }
  if (found.body_size > max_body) {
    return invalid(base::InvalidArgumentError(
        base::StrCat("it sent a frame of kind ", unsigned{found.kind}, " with ", found.body_size,
                     " bytes; at most ", max_body, " are accepted")));
  }
  const auto size = static_cast<size_t>(found.body_size);
  if (rest.size() - header_size < size) return item::none;
  *header = found;
  *body = rest.substr(header_size, size);
  used_ += header_size + size;
  return item::frame;
}

frame_reader::item frame_reader::invalid(base::Status why) {
  error_ = std::move(why);
  return item::invalid;
}

}  // namespace lci::io
