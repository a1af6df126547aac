#ifndef LCI_RUNTIME_RESOURCES_LOOSE_PACKETS_H_
#define LCI_RUNTIME_RESOURCES_LOOSE_PACKETS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/backend.h"
#include "lci/net/op.h"
#include "lci/runtime/resources/returned_packets.h"

namespace lci::rt {

class packet;

// Packets that do not lie in the memory of a pool, each as large as it needs to be. They hold large
// active messages that arrive in a packet or are lent, messages that arrive before their receive,
// and what no packet is left for.
//
// Idle packets are kept for later messages, with their registration. Memory from malloc would be
// touched for the first time in nearly each message: glibc gives the end of its heap back to the
// system when 128 KiB of it are free, and maps larger blocks anew. Then the kernel clears page by
// page, which takes more time than a message of 64 KiB.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted. The
// idle packets are divided among several parts with a mutex each. A thread returns packets to its
// own part, and takes from the others if that has none.
class loose_packets {
 public:
  // Keeps idle packets of up to `most_kept` bytes in total. `is_watched`: returns by the program are
  // checked (put_checked).
  explicit loose_packets(size_t most_kept, bool is_watched = false)
      : most_kept_(most_kept), is_watched_(is_watched), returned_(most_kept) {}
  // Packets that are in use are freed when they are returned.
  ~loose_packets();
  loose_packets(const loose_packets&) = delete;
  loose_packets& operator=(const loose_packets&) = delete;

  // A packet for `size` bytes, which the caller owns until put() or discard(). Throws
  // std::bad_alloc.
  packet* get(size_t size);
  // Takes back a packet that get() returned. The loose_packets that it is from may have been
  // destroyed.
  static void put(packet* returned) noexcept;
  // As put(), of a watched packet by the program. Throws as returned_packets::add().
  static void put_checked(packet* returned);
  // As put(), but does not keep it: a rank that counts as failed may still write to it.
  static void discard(packet* returned) noexcept;

  // The registration of the packet's bytes with `network`, which begins with the first byte. It
  // lasts until the packet is used with another network, freed, or forget(). The caller owns the
  // packet. Returns the network's error if it cannot register.
  static base::StatusOr<net::local_region> region_of(packet& one, net::context& network);
  // Ends the registrations with a network that is about to be destroyed. No operation uses them.
  void forget(net::context& network);

  // Bytes of the idle packets.
  size_t kept_bytes() const { return kept_.load(std::memory_order_relaxed); }

 private:
  struct holder;
  // Packets whose sizes are powers of two up to 2^(classes - 1) are kept.
  static constexpr size_t classes = 48;
  struct alignas(64) part {
    std::mutex mutex;
    std::array<holder*, classes> idle{};  // the one that was returned last in front
  };

  static holder& holder_of(packet& one);
  static packet* packet_of(holder& one);

  bool is_kept(const holder& one) const;
  part& own_part();
  holder* make(size_t capacity);
  holder* take_idle(size_t size_class);
  // Makes room for a packet of `size_class` that has been returned. Returns a packet to be freed,
  // or null.
  holder* take_superfluous(part& from, size_t size_class);
  void destroy(holder* gone) noexcept;
  static void free_memory(holder* gone) noexcept;

  const size_t most_kept_;
  const bool is_watched_;
  returned_packets returned_;
  std::atomic<size_t> kept_{0};
  std::array<part, 8> parts_;

  std::mutex mutex_;
  std::vector<holder*> all_;  // guarded by mutex_, as are the registrations of its members
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_RESOURCES_LOOSE_PACKETS_H_
