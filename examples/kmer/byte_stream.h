// The text of a file from its beginning, whether it is gzip or not.
#ifndef EXAMPLES_KMER_BYTE_STREAM_H_
#define EXAMPLES_KMER_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "zlib.h"

namespace kmer {

// The input can't be used; the message names the file, says what is wrong, and is complete.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A regular file opened for reading. Throws input_error.
class input_descriptor {
 public:
  explicit input_descriptor(const std::string& path);
  ~input_descriptor();
  input_descriptor(const input_descriptor&) = delete;
  input_descriptor& operator=(const input_descriptor&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Up to `size` bytes at `offset`; fewer only at the end of the file. Any thread.
  size_t read_at(uint64_t offset, char* to, size_t size) const;

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// Not thread-safe. A gzip file is recognized by its first two bytes, not by its name, and may have
// several members (RFC 1952), as bgzip and `cat a.gz b.gz` make them.
class byte_stream {
 public:
  explicit byte_stream(const std::string& path);
  ~byte_stream();
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;

  bool is_gzip() const { return gzip_; }
  // Up to `size` bytes of text; fewer only at its end.
  size_t read(char* to, size_t size);
  // Bytes of the file used so far.
  uint64_t position() const { return position_ - zlib_.avail_in; }
  uint64_t file_size() const { return file_.size(); }

 private:
  void fill();
  size_t inflate_some(char* to, size_t size);

  input_descriptor file_;
  bool gzip_ = false;
  uint64_t position_ = 0;  // of the next byte to read from the file
  std::vector<unsigned char> input_;
  z_stream zlib_{};
  bool between_members_ = true;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_BYTE_STREAM_H_
