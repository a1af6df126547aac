#include "lci/net/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::net::shm {
namespace {

base::Status failure(const std::string& what) { return base::ErrnoToStatus(errno, what); }

}  // namespace

base::StatusOr<uint64_t> make_token() {
  const base::StatusOr<uint64_t> random = base::random_number();
  if (!random.ok()) return random.status();
  return *random | 1;  // not 0, which is what untouched memory holds
}

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

segment_name segment::name() const {
  return {fd_, 0, reinterpret_cast<const segment_header*>(data_)->token};
}

void segment::close_descriptor() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

bool segment::discard(size_t begin, size_t bytes) {
  return fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                   static_cast<off_t>(bytes)) == 0;
}

base::Status segment::map(int descriptor, size_t bytes, bool writable) {
  void* data =
      mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    return failure(base::StrCat("mapping ", bytes, " bytes of shared memory (see ulimit -v)"));
  }
  data_ = static_cast<unsigned char*>(data);
  size_ = bytes;
  return base::OkStatus();
}

base::StatusOr<segment> segment::create(const char* label, size_t bytes) {
  const base::StatusOr<uint64_t> token = make_token();
  if (!token.ok()) return token.status();
  return create(label, bytes, *token);
}

base::StatusOr<segment> segment::create(const char* label, size_t bytes, uint64_t token) {
  segment result;
  result.fd_ = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (result.fd_ < 0) return failure("making shared memory (memfd_create)");
  // Nobody but this user opens it through /proc in any case; the mode says so as well.
  if (fchmod(result.fd_, S_IRUSR | S_IWUSR) != 0 ||
      ftruncate(result.fd_, static_cast<off_t>(bytes)) != 0) {
    return failure(base::StrCat("making shared memory of ", bytes, " bytes (see ulimit -f)"));
  }
  if (fcntl(result.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failure("sealing shared memory");
  }
  if (base::Status mapped = result.map(result.fd_, bytes, /*writable=*/true); !mapped.ok())
    return mapped;
  *reinterpret_cast<segment_header*>(result.data_) = {layout_version, token};
  return result;
}

base::StatusOr<segment> segment::open(int64_t pid, const segment_name& name, size_t bytes,
                                      bool writable) {
  const std::string path = base::StrCat("/proc/", pid, "/fd/", name.descriptor);
  const int opened = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (opened < 0) return failure(base::StrCat("opening shared memory (", path, ")"));
  base::StatusOr<segment> mapped = adopt(opened, name.token, bytes, writable);
  close(opened);
  if (mapped.ok()) return mapped;
  return base::WithPrefix(base::StrCat(path, ": "), mapped.status());
}

base::StatusOr<segment> segment::adopt(int descriptor, uint64_t token, size_t bytes,
                                       bool writable) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return failure("fstat");
  if (static_cast<size_t>(status.st_size) != bytes) {
    return base::FailedPreconditionError(
        base::StrCat("the shared memory has ", status.st_size, " bytes, not ", bytes));
  }
  segment result;
  if (base::Status mapped = result.map(descriptor, bytes, writable); !mapped.ok()) return mapped;
  const auto* header = reinterpret_cast<const segment_header*>(result.data_);
  if (header->version != layout_version || header->token != token) {
    return base::FailedPreconditionError("this is not the shared memory of that rank");
  }
  return result;
}

}  // namespace lci::net::shm
