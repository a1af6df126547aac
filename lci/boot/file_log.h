// The open file of one job: reads, appends and waits. file_layout.h defines its format.
#ifndef LCI_BOOT_FILE_LOG_H_
#define LCI_BOOT_FILE_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/boot/file_layout.h"
#include "lci/io/deadline.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {

// A flock, held until destruction, or until the process dies and the kernel releases it.
class file_lock {
 public:
  // DeadlineExceeded if other holders keep it until the deadline.
  static base::StatusOr<file_lock> take(int fd, bool exclusive, io::steady::time_point deadline);
  file_lock(file_lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~file_lock();

  // Holds the lock until the file is closed instead.
  void keep() { fd_ = -1; }

 private:
  explicit file_lock(int fd) : fd_(fd) {}
  int fd_;
};

// Thread safety: wait_for_event() by any thread; all other members by one thread at a time. Members
// that need the flock say so. A flock belongs to the open file, so that one log is one party to it.
class file_log {
 public:
  using visitor = std::function<void(file_layout::kind kind, int rank, std::string_view name,
                                     std::string_view value)>;

  // Creates a file without records, under a temporary name until it is complete. The caller ensures
  // that no other process creates the same file.
  static base::StatusOr<file_log> create(int directory, const std::string& name, uint32_t size,
                                         std::string_view job_id);
  // NotFound if there is no such file; DataLoss if its format is not valid.
  static base::StatusOr<file_log> open(int directory, const std::string& name);

  file_log(file_log&& other) noexcept;
  file_log& operator=(file_log&&) = delete;
  ~file_log();

  int fd() const { return fd_.get(); }
  uint32_t job_size() const { return job_size_; }
  const std::string& job_id() const { return job_id_; }

  // Calls `visit` with every record since the last call. Needs the flock, shared or exclusive.
  base::Status read_new(const visitor& visit);
  // Makes the next read_new() begin with the first record.
  void rewind() { read_to_ = sizeof(file_layout::header); }
  // Appends a record, which the next read_new() visits. Needs the exclusive flock, and all records
  // read.
  base::Status append(file_layout::kind kind, int rank, std::string_view name,
                      std::string_view value);

  // Wakes the waiters. Needs the exclusive flock, so that no event precedes its record.
  void signal_event();
  uint32_t events() const;  // needs the flock; for wait_for_event
  // Returns when events() differs from `seen`, or after `at_most`, or spuriously.
  void wait_for_event(uint32_t seen, std::chrono::milliseconds at_most) const;

 private:
  file_log(io::unique_fd fd, void* page, const file_layout::header& header);
  static base::StatusOr<file_log> map(io::unique_fd fd, const std::string& name);
  std::atomic<uint32_t>* events_word() const;

  io::unique_fd fd_;
  void* page_;  // the header, mapped
  uint32_t job_size_;
  std::string job_id_;
  uint64_t read_to_ = sizeof(file_layout::header);
};

}  // namespace lci::boot

#endif  // LCI_BOOT_FILE_LOG_H_
