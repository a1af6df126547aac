#include "lci/boot/file_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "lci/base/backoff.h"
#include "lci/base/error_text.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/boot/process.h"

namespace lci::boot {
namespace {

using file_layout::header;
using file_layout::kind;
using file_layout::record;

base::Status io_error(std::string_view what) {
  return base::InternalError(base::StrCat("file bootstrap: ", what, ": ", base::error_text(errno)));
}

base::Status damaged() {
  return base::DataLossError(
      "file bootstrap: the job's file is damaged, or of another release; start all ranks from one "
      "release");
}

base::Status write_all(int fd, std::string_view bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return io_error("write");
    bytes.remove_prefix(static_cast<size_t>(put));
    at += static_cast<uint64_t>(put);
  }
  return base::OkStatus();
}

base::Status read_all(int fd, char* to, size_t size, uint64_t at) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read");
    if (got == 0) return damaged();  // shorter than its header says
    to += got;
    at += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return base::OkStatus();
}

// How long others keep a lock, at most, unless they are stopped or lost.
constexpr std::chrono::seconds patience{1};

std::string describe_holder(int fd) {
  const std::string holder = describe_lock_holder(fd);
  if (holder.empty()) {
    return "file bootstrap: another process keeps the job's file locked; is one stopped?";
  }
  return base::StrCat("file bootstrap: ", holder, ", keeps the job's file locked");
}

}  // namespace

base::StatusOr<file_lock> file_lock::take(int fd, bool exclusive, io::steady::time_point deadline) {
  // Not a blocking flock: a holder may be stopped, and the caller has a timeout. Holders keep the
  // lock for microseconds, so the pauses and yields nearly always suffice; the naps are for a
  // stopped holder.
  const io::steady::time_point begun = io::steady::now();
  bool has_complained = false;
  base::backoff backoff;
  for (;; backoff.idle()) {
    if (::flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return file_lock(fd);
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return io_error("flock");
    const io::steady::time_point now = io::steady::now();
    if (now >= deadline) return base::DeadlineExceededError(describe_holder(fd));
    // Also while a call with a long timeout waits: the job stands still until the holder continues.
    if (now - begun > patience && !std::exchange(has_complained, true)) {
      LCI_LOG(warn, describe_holder(fd));
    }
    if (backoff.yields() > 32) {
      const timespec nap = {0, std::min(static_cast<long>(backoff.yields()) * 2000, 1000000L)};
      ::nanosleep(&nap, nullptr);
    }
  }
}

file_lock::~file_lock() {
  if (fd_ >= 0) ::flock(fd_, LOCK_UN);
}

base::StatusOr<file_log> file_log::create(int directory, const std::string& name, uint32_t size,
                                          std::string_view job_id) {
  header h = {};
  h.magic = file_layout::magic;
  h.size = size;
  h.committed = sizeof h;
  job_id.copy(h.job_id, sizeof h.job_id - 1);
  // Write a draft and rename it: a creator that dies leaves no incomplete header.
  const std::string draft = name + ".new";
  io::unique_fd fd(::openat(directory, draft.c_str(),
                            O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return io_error(base::StrCat("create ", name));
  const base::Status written =
      write_all(fd.get(), std::string_view(reinterpret_cast<const char*>(&h), sizeof h), 0);
  if (!written.ok()) return written;
  if (::renameat(directory, draft.c_str(), directory, name.c_str()) != 0) {
    return io_error(base::StrCat("rename ", name));
  }
  return map(std::move(fd), name);
}

base::StatusOr<file_log> file_log::open(int directory, const std::string& name) {
  io::unique_fd fd(::openat(directory, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return base::NotFoundError(name);
  if (!fd) return io_error(base::StrCat("open ", name));
  return map(std::move(fd), name);
}

base::StatusOr<file_log> file_log::map(io::unique_fd fd, const std::string& name) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return io_error(base::StrCat("stat ", name));
  if (!S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(sizeof(header))) return damaged();
  header h;
  const base::Status read = read_all(fd.get(), reinterpret_cast<char*>(&h), sizeof h, 0);
  if (!read.ok()) return read;
  if (h.magic != file_layout::magic || h.size == 0 || h.size > file_layout::max_ranks) {
    return damaged();
  }
  void* page = ::mmap(nullptr, sizeof(header), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) return io_error(base::StrCat("map ", name));
  return file_log(std::move(fd), page, h);
}

file_log::file_log(io::unique_fd fd, void* page, const header& h)
    : fd_(std::move(fd)),
      page_(page),
      job_size_(h.size),
      job_id_(h.job_id, ::strnlen(h.job_id, sizeof h.job_id)) {}

file_log::file_log(file_log&& other) noexcept
    : fd_(std::move(other.fd_)),
      page_(std::exchange(other.page_, nullptr)),
      job_size_(other.job_size_),
      job_id_(std::move(other.job_id_)),
      read_to_(other.read_to_) {}

file_log::~file_log() {
  if (page_ != nullptr) ::munmap(page_, sizeof(header));
}

base::Status file_log::read_new(const visitor& visit) {
  uint64_t committed = 0;
  base::Status read = read_all(fd_.get(), reinterpret_cast<char*>(&committed), sizeof committed,
                               offsetof(header, committed));
  if (!read.ok()) return read;
  if (committed < read_to_) return damaged();
  if (committed == read_to_) return base::OkStatus();
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) return io_error("stat");
  // A writer writes the records first.
  if (committed > static_cast<uint64_t>(info.st_size)) return damaged();
  std::string bytes(static_cast<size_t>(committed - read_to_), '\0');
  read = read_all(fd_.get(), &bytes[0], bytes.size(), read_to_);
  if (!read.ok()) return read;
  for (std::string_view rest = bytes; !rest.empty();) {
    record r;
    if (rest.size() < sizeof r) return damaged();
    memcpy(&r, rest.data(), sizeof r);
    if (!file_layout::is_valid(r, job_size_) || file_layout::record_size(r) > rest.size()) {
      return damaged();
    }
    visit(static_cast<kind>(r.kind), static_cast<int>(r.rank), rest.substr(sizeof r, r.name_size),
          rest.substr(sizeof r + r.name_size, r.value_size));
    rest.remove_prefix(static_cast<size_t>(file_layout::record_size(r)));
  }
  read_to_ = committed;
  return base::OkStatus();
}

base::Status file_log::append(kind what, int rank, std::string_view name, std::string_view value) {
  const record r = {static_cast<uint32_t>(what), static_cast<uint32_t>(rank),
                    static_cast<uint32_t>(name.size()), static_cast<uint32_t>(value.size())};
  std::string bytes(reinterpret_cast<const char*>(&r), sizeof r);
  base::StrAppend(&bytes, name, value);
  bytes.resize(static_cast<size_t>(file_layout::record_size(r)), '\0');
  const base::Status written = write_all(fd_.get(), bytes, read_to_);
  if (!written.ok()) return written;
  const uint64_t committed = read_to_ + bytes.size();
  return write_all(fd_.get(),
                   std::string_view(reinterpret_cast<const char*>(&committed), sizeof committed),
                   offsetof(header, committed));
}

std::atomic<uint32_t>* file_log::events_word() const {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return reinterpret_cast<std::atomic<uint32_t>*>(static_cast<char*>(page_) +
                                                  offsetof(header, events));
}

// The flock orders the records; the word itself orders nothing else, so relaxed suffices.
void file_log::signal_event() {
  events_word()->fetch_add(1, std::memory_order_relaxed);
  ::syscall(SYS_futex, events_word(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

uint32_t file_log::events() const { return events_word()->load(std::memory_order_relaxed); }

void file_log::wait_for_event(uint32_t seen, std::chrono::milliseconds at_most) const {
  const auto ms = at_most.count();
  const timespec timeout = {static_cast<time_t>(ms / 1000),
                            static_cast<long>(ms % 1000) * 1'000'000};
  ::syscall(SYS_futex, events_word(), FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace lci::boot
