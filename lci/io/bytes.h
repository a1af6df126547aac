// Little-endian numbers and texts in bodies of frames.
//
//   text   u32 size, then as many bytes
#ifndef LCI_IO_BYTES_H_
#define LCI_IO_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lci::io {

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

inline void append_text(std::string* out, std::string_view text) {
  append_le(out, text.size(), 4);
  out->append(text.data(), text.size());
}

// Reads a body from front to back. Reading past the end gives zeros and makes ok() false.
class body_reader {
 public:
  explicit body_reader(std::string_view body) : rest_(body) {}

  // A number of so many bytes, at most 8.
  uint64_t number(size_t bytes) {
    const std::string_view taken = take(bytes);
    return taken.size() == bytes ? load_le(taken.data(), bytes) : 0;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  std::string_view text() { return take(u32()); }
  std::string_view rest() { return take(rest_.size()); }

  // The body is wrong for another reason.
  void fail() { ok_ = false; }

  bool ok() const { return ok_; }
  // ok, and nothing is left over.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
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

}  // namespace lci::io

#endif  // LCI_IO_BYTES_H_
