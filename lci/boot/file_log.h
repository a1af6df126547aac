// One job's file, opened: reads, appends and waits. file_layout.h says what it looks like.
#ifndef LCI_BOOT_FILE_LOG_H_
#define LCI_BOOT_FILE_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/boot/deadline.h"
#include "lci/boot/file_layout.h"
#include "lci/boot/socket.h"

namespace lci::boot {

// A flock, held until destruction (or the process's death, when the kernel lets go).
class file_lock {
 public:
  // DeadlineExceeded if others hold it until the deadline.
  static base::StatusOr<file_lock> take(int fd, bool exclusive, steady::time_point deadline);
  file_lock(file_lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~file_lock();

  // Holds it until the file is closed instead.
  void keep() { fd_ = -1; }

 private:
  explicit file_lock(int fd) : fd_(fd) {}
  int fd_;
};

// Thread safety: wait_for_event() by any thread; the rest by one at a time. What needs the flock
// says so; a flock belongs to the open file, so one log serves as one party to it.
class file_log {
 public:
  using visitor = std::function<void(file_layout::kind kind, int rank, std::string_view name,
                                     std::string_view value)>;

  // A new file with no records, under a temporary name until it is whole. The caller sees to it
  // that nobody else creates it.
  static base::StatusOr<file_log> create(int directory, const std::string& name, uint32_t size,
                                         std::string_view job_id);
  // NotFound if there is none; DataLoss if it is not one of ours.
  static base::StatusOr<file_log> open(int directory, const std::string& name);

  file_log(file_log&& other) noexcept;
  file_log& operator=(file_log&&) = delete;
  ~file_log();

  int fd() const { return fd_.get(); }
  uint32_t job_size() const { return job_size_; }
  const std::string& job_id() const { return job_id_; }

  // Calls `visit` with every record since the last call. Under the flock, shared or exclusive.
  base::Status read_new(const visitor& visit);
  // The next read_new() begins with the first record.
  void rewind() { read_to_ = sizeof(file_layout::header); }
  // Appends one; the next read_new() visits it. Under the exclusive flock, everything read.
  base::Status append(file_layout::kind kind, int rank, std::string_view name,
                      std::string_view value);

  // Wakes the waiters. Under the exclusive flock, so that an event is never before what it tells
  // of.
  void signal_event();
  uint32_t events() const;  // under the flock, for wait_for_event
  // Returns when events() differs from `seen`, or after `at_most`, or for no reason.
  void wait_for_event(uint32_t seen, std::chrono::milliseconds at_most) const;

 private:
  file_log(unique_fd fd, void* page, const file_layout::header& header);
  static base::StatusOr<file_log> map(unique_fd fd, const std::string& name);
  std::atomic<uint32_t>* events_word() const;

  unique_fd fd_;
  void* page_;  // the header, mapped
  uint32_t job_size_;
  std::string job_id_;
  uint64_t read_to_ = sizeof(file_layout::header);
};

}  // namespace lci::boot

#endif  // LCI_BOOT_FILE_LOG_H_
