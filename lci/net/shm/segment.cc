#include "lci/net/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lci::net::shm {
namespace {

absl::Status failure(const std::string& what) { return absl::ErrnoToStatus(errno, what); }

}  // namespace

segment::~segment() {
  if (data_ != nullptr) munmap(data_, size_);
  close_descriptor();
}

segment::segment(segment&& other) noexcept { *this = std::move(other); }

segment& segment::operator=(segment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

void segment::close_descriptor() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::StatusOr<segment> segment::create(const char* label, size_t bytes) {
  segment result;
  result.fd_ = memfd_create(label, MFD_CLOEXEC);
  if (result.fd_ < 0) return failure("memfd_create");
  if (ftruncate(result.fd_, static_cast<off_t>(bytes)) != 0) {
    return failure(absl::StrCat("shared memory of ", bytes, " bytes"));
  }
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, result.fd_, 0);
  if (data == MAP_FAILED) return failure(absl::StrCat("mapping ", bytes, " bytes"));
  result.data_ = static_cast<unsigned char*>(data);
  result.size_ = bytes;
  return result;
}

absl::StatusOr<segment> segment::open(pid_t pid, int fd, size_t bytes, bool writable) {
  const std::string path = absl::StrCat("/proc/", pid, "/fd/", fd);
  segment result;
  result.fd_ = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (result.fd_ < 0) return failure(absl::StrCat("opening the shared memory of process ", pid));
  struct stat status;
  if (fstat(result.fd_, &status) != 0) return failure("fstat");
  if (static_cast<size_t>(status.st_size) < bytes) {
    return absl::FailedPreconditionError(absl::StrCat("the shared memory of process ", pid, " has ",
                                                      status.st_size, " bytes, not ", bytes));
  }
  void* data =
      mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, result.fd_, 0);
  if (data == MAP_FAILED) return failure(absl::StrCat("mapping ", bytes, " bytes"));
  result.data_ = static_cast<unsigned char*>(data);
  result.size_ = bytes;
  result.close_descriptor();
  return result;
}

}  // namespace lci::net::shm
