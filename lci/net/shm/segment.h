#ifndef LCI_NET_SHM_SEGMENT_H_
#define LCI_NET_SHM_SEGMENT_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/status.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// A number that nobody else has.
base::StatusOr<uint64_t> make_token();

// Memory that other processes can map: those of the same user, while they know our process number
// and file descriptor, and those that have been passed the descriptor. It is an anonymous file
// (memfd): it has no name that could stay behind or meet that of another job, is not bounded by the
// size of /dev/shm (so that a full one can't kill a process that touches it), and is gone when the
// last process that maps it is gone, however that one ends. It is sealed: no peer can shrink it
// under us. Page 0 begins with a segment_header.
//
// Movable; unmaps and closes when destroyed. Thread safety: that of a plain value.
class segment {
 public:
  segment() = default;
  ~segment();
  segment(segment&& other) noexcept;
  segment& operator=(segment&& other) noexcept;

  // `bytes` zero bytes behind a header with a new token; pages take memory only once they are
  // touched. `label` shows in /proc/<pid>/maps.
  static base::StatusOr<segment> create(const char* label, size_t bytes);
  // The same with a token that the peers know already.
  static base::StatusOr<segment> create(const char* label, size_t bytes, uint64_t token);
  // Maps `bytes` of what process `pid` (as /proc numbers it) created. An error if that is something
  // else: nothing is written to it before its size and its header are what they should be.
  static base::StatusOr<segment> open(int64_t pid, const segment_name& name, size_t bytes,
                                      bool writable);
  // The same of what another process created and has passed the descriptor of (see
  // descriptor_passing.h), which stays the caller's.
  static base::StatusOr<segment> adopt(int descriptor, uint64_t token, size_t bytes, bool writable);

  // The name by which other processes open it, until close_descriptor.
  segment_name name() const;
  // Ends the possibility for others to open it. Existing mappings stay.
  void close_descriptor();

  // Makes these bytes, which are whole pages, zero again, for all who map them, and gives the memory
  // back. Needs the descriptor. False if the system refuses.
  bool discard(size_t begin, size_t bytes);

  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  base::Status map(int descriptor, size_t bytes, bool writable);

  unsigned char* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_SEGMENT_H_
