#ifndef LCI_RUNTIME_RESOURCES_RETURNED_PACKETS_H_
#define LCI_RUNTIME_RESOURCES_RETURNED_PACKETS_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

#include "lci/observe/call_site.h"

namespace lci::rt {

class packet;

// The watched packets that the program has returned last. They go back to their pool only after
// some others, so that a packet that the program returns twice is noticed.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class returned_packets {
 public:
  // Keeps packets of up to `most_bytes` in total.
  explicit returned_packets(size_t most_bytes) : most_bytes_(most_bytes) {}
  // All packets have been taken, or their memory ends with this object.
  ~returned_packets() = default;

  // A watched packet of so many bytes. Throws std::invalid_argument, naming put_upacket, if it is
  // here already.
  void add(packet* one, size_t bytes);
  // Null if there is none. The caller owns the packet.
  packet* take_oldest();
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t most = 256;
  struct entry {
    packet* returned;
    size_t bytes;
    observe::call_stack stack;
  };
  packet* take_oldest_locked();  // with the lock, of at least one

  const size_t most_bytes_;
  std::mutex mutex_;
  std::deque<entry> entries_;    // guarded by mutex_, the oldest first
  size_t bytes_ = 0;             // guarded by mutex_
  std::atomic<size_t> size_{0};  // of entries_
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_RESOURCES_RETURNED_PACKETS_H_
