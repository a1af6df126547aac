// Frames on a stream of bytes, such as a TCP connection. Every number is little-endian.
//
// Each side begins with one preamble; frames follow, each a header and a body.
//
//   preamble    bits  0..31  magic of the protocol
//   (8 bytes)   bits 32..47  version of the protocol
//               bits 48..63  zero
//
//   header      word 0  bits  0..47  bytes of the body that follows
//   (16 bytes)          bits 48..55  kind
//                       bits 56..63  zero
//               word 1  bits  0..31  request: repeated in the reply; 0 for other frames
//                       bits 32..63  zero
//
// The preamble keeps its format in all versions of a protocol; everything else may change with the
// version.
//
// Kinds from 240 on are those of the handshake (handshake.h); a protocol defines the others.
#ifndef LCI_IO_FRAMING_H_
#define LCI_IO_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lci/base/status.h"

namespace lci::io {

struct protocol {
  uint32_t magic;
  uint16_t version;
  const char* name;    // "bootstrap": for errors
  const char* server;  // "lcrun": what listens, for errors
};

constexpr size_t preamble_size = 8;
constexpr size_t header_size = 16;

struct frame_header {
  uint64_t body_size = 0;
  uint8_t kind = 0;
  uint32_t request = 0;
};

void append_preamble(std::string* out, const protocol& of);
void append_header(std::string* out, const frame_header& header);
void append_frame(std::string* out, uint8_t kind, uint32_t request, std::string_view body);

// Divides received bytes, which may arrive in pieces of any size, into a preamble and frames. Holds
// at most the bytes of one frame that is not complete, in addition to the bytes of the last add().
//
// Thread safety: one thread at a time.
class frame_reader {
 public:
  enum class item {
    none,      // more bytes are needed
    preamble,  // the magic is that of the protocol; the version may be another one
    frame,
    invalid,  // error() says why; nothing more is read
  };

  explicit frame_reader(const protocol& of) : protocol_(of) {}

  void add(std::string_view received);
  // Takes the next item. Sets `*header` and `*body` for a frame only; `*body` is valid until the
  // next call of add(). A frame whose body exceeds `max_body` is invalid as soon as its header has
  // arrived.
  item next(uint64_t max_body, frame_header* header, std::string_view* body);
  // FailedPrecondition: another protocol, or another version; the message says what to do.
  // InvalidArgument: a malformed frame.
  const base::Status& error() const { return error_; }

 private:
  item invalid(base::Status why);

  const protocol protocol_;
  std::string in_;
  size_t used_ = 0;  // of in_
  bool has_preamble_ = false;
  base::Status error_;
};

}  // namespace lci::io

#endif  // LCI_IO_FRAMING_H_
