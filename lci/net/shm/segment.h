#ifndef LCI_NET_SHM_SEGMENT_H_
#define LCI_NET_SHM_SEGMENT_H_

#include <sys/types.h>

#include <cstddef>

#include "absl/status/statusor.h"

namespace lci::net::shm {

// Memory that other processes of the same user can map while they know our process number and file
// descriptor: an anonymous file (memfd), which has no name, is not bounded by the size of /dev/shm,
// and is gone when the last process that maps it is gone, however that one ends.
//
// Movable; unmaps and closes when destroyed. Thread safety: that of a plain value.
class segment {
 public:
  segment() = default;
  ~segment();
  segment(segment&& other) noexcept;
  segment& operator=(segment&& other) noexcept;

  // `bytes` zero bytes; pages take memory only once they are touched. `label` shows in
  // /proc/<pid>/maps.
  static absl::StatusOr<segment> create(const char* label, size_t bytes);
  // Maps what process `pid` created as its descriptor `fd`. The error says so if it is smaller than
  // `bytes`.
  static absl::StatusOr<segment> open(pid_t pid, int fd, size_t bytes, bool writable);

  // Ends the possibility for others to map it. What is mapped stays.
  void close_descriptor();

  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }
  int fd() const { return fd_; }

 private:
  unsigned char* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_SEGMENT_H_
