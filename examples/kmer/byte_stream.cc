#include "examples/kmer/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"

namespace kmer {
namespace {

constexpr size_t input_bytes = 256 * 1024;

input_error system_error(const std::string& path, const char* what) {
  return input_error(absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
}

}  // namespace

input_descriptor::input_descriptor(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) throw system_error(path, "can't open");
  struct stat status;
  const bool known = ::fstat(fd_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  const input_error error =
      known
          ? input_error(absl::StrCat(
                path, ": is not a regular file; the input is read twice and by several processes"))
          : system_error(path, "can't be examined");
  ::close(fd_);
  throw error;
}

input_descriptor::~input_descriptor() { ::close(fd_); }

size_t input_descriptor::read_at(uint64_t offset, char* to, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd_, to + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(path_, "can't read");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

byte_stream::byte_stream(const std::string& path) : file_(path), input_(input_bytes) {
  fill();
  gzip_ = zlib_.avail_in >= 2 && input_[0] == 0x1f && input_[1] == 0x8b;
  // 15: the largest window; 16: gzip only.
  if (gzip_ && inflateInit2(&zlib_, 15 + 16) != Z_OK) throw std::bad_alloc();
}

byte_stream::~byte_stream() {
  if (gzip_) inflateEnd(&zlib_);
}

void byte_stream::fill() {
  const size_t n = file_.read_at(position_, reinterpret_cast<char*>(input_.data()), input_.size());
  position_ += n;
  zlib_.next_in = input_.data();
  zlib_.avail_in = static_cast<uInt>(n);
}

size_t byte_stream::read(char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    if (zlib_.avail_in == 0) fill();
    if (zlib_.avail_in == 0) {
      if (gzip_ && !between_members_) {
        throw input_error(absl::StrCat(file_.path(), ": the gzip data is truncated: it ends after ",
                                       file_.size(), " bytes in the middle of a member"));
      }
      break;
    }
    if (gzip_) {
      done += inflate_some(to + done, size - done);
    } else {
      const size_t n = std::min<size_t>(size - done, zlib_.avail_in);
      std::memcpy(to + done, zlib_.next_in, n);
      zlib_.next_in += n;
      zlib_.avail_in -= static_cast<uInt>(n);
      done += n;
    }
  }
  return done;
}

size_t byte_stream::inflate_some(char* to, size_t size) {
  if (between_members_) {
    // Tape blocks and some tools pad the end with zeros.
    while (zlib_.avail_in > 0 && *zlib_.next_in == 0) {
      ++zlib_.next_in;
      --zlib_.avail_in;
    }
    if (zlib_.avail_in == 0) return 0;
    between_members_ = false;
  }
  const uInt room = static_cast<uInt>(std::min<size_t>(size, 1U << 30));
  zlib_.next_out = reinterpret_cast<Bytef*>(to);
  zlib_.avail_out = room;
  const int result = inflate(&zlib_, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    between_members_ = true;
    inflateReset(&zlib_);
  } else if (result == Z_MEM_ERROR) {
    throw std::bad_alloc();
  } else if (result != Z_OK && result != Z_BUF_ERROR) {
    throw input_error(
        absl::StrCat(file_.path(), ": the gzip data is damaged near byte ", position(),
                     " of the file: ", zlib_.msg != nullptr ? zlib_.msg : "unknown reason"));
  }
  return room - zlib_.avail_out;
}

}  // namespace kmer
