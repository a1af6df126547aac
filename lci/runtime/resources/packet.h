// Packets: pieces of memory of one size that the network can send from, and their pool (SC'25
// paper, section 5.1.2).
#ifndef LCI_RUNTIME_RESOURCES_PACKET_H_
#define LCI_RUNTIME_RESOURCES_PACKET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/counters.hpp"
#include "lci/base/thread_number.h"
#include "lci/ds/stealing_pool.h"
#include "lci/net/backend.h"
#include "lci/net/op.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/resources/loose_packets.h"
#include "lci/runtime/resources/returned_packets.h"

namespace lci {

class packet_pool_impl_t;
class runtime_impl_t;
class net_context_impl_t;

namespace rt {

class rank_state;

// The header before the bytes of a packet. The wire's header is written just before the bytes, so
// that both leave as one piece.
class alignas(64) packet {
 public:
  // The packet whose bytes begin at `payload`.
  static packet* of(void* payload) { return reinterpret_cast<packet*>(payload) - 1; }

  unsigned char* payload() { return reinterpret_cast<unsigned char*>(this + 1); }
  // The place for a header of `size` bytes, at most net::max_header_size.
  unsigned char* header(size_t size) { return payload() - size; }
  packet_pool_impl_t* pool() const { return pool_; }
  // Is `this` what it seems to be? For bad pointers from the program. False for a watched packet,
  // whose returns are checked (put_checked), so that the check costs nothing elsewhere.
  bool is_valid() const { return magic_ == magic; }

  bool is_loose() const { return pool_ == nullptr; }
  // Gives it back to its pool, or to the loose packets. Any thread.
  inline void put();

 private:
  friend class lci::packet_pool_impl_t;
  friend class loose_packets;
  friend class returned_packets;
  friend void put_checked(packet* returned);
  static constexpr uint64_t magic = 0x4c434920706b7400;     // "LCI pkt"
  static constexpr uint64_t watched = 0x4c434920706b7421;   // "LCI pkt!"
  static constexpr uint64_t returned = 0x4c434920706b742d;  // "LCI pkt-"

  packet_pool_impl_t* pool_;  // null: one of loose_packets
  uint64_t magic_;
  uint32_t owner_;  // number of the thread that used it first (base::thread_number)
  uint32_t unused_[3];
  unsigned char headroom_[net::max_header_size];
};
static_assert(sizeof(packet) == 64);

// The program returns a packet, or what is_valid() says is none. Throws std::invalid_argument if it
// is none, or the program has returned it before.
[[gnu::cold]] void put_checked(packet* returned);

// The registrations of a pool's packets with one net context, for a network that needs them: a slab
// of 4 MiB at a time, when the first packet of it is sent in place. A pool has room for more
// packets than most programs ever use, and an adapter holds in memory what is registered.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class packet_regions {
 public:
  packet_regions(net::context& network, const packet_pool_impl_t& pool);
  ~packet_regions();
  packet_regions(const packet_regions&) = delete;
  packet_regions& operator=(const packet_regions&) = delete;

  // Throws std::runtime_error.
  net::local_region of(const packet& one) {
    const size_t slab = slab_of(one);
    const uint64_t known = slabs_[slab].load(std::memory_order_acquire);
    return __builtin_expect(known != 0, 1) ? net::local_region{known} : enter(slab);
  }

 private:
  static constexpr int slab_bits = 22;
  size_t slab_of(const packet& one) const;
  net::local_region enter(size_t slab);

  net::context& network_;
  const packet_pool_impl_t& pool_;
  std::mutex mutex_;                                // of who registers
  std::unique_ptr<std::atomic<uint64_t>[]> slabs_;  // handles; 0: not registered
};

}  // namespace rt

// The object behind a packet_pool_t. The packets lie in one range of addresses, which takes memory
// only as they are first used: when no thread has one left. Each thread has a stock of its own
// (ds::stealing_pool): one with none takes from the others; one with more than
// the runtime's packet_return_threshold gives those of others back to the threads that used them
// first.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted; get
// and put are wait-free but for the exchange of a batch with another thread's stock.
class packet_pool_impl_t : public rt::live_object {
 public:
  // Throws std::invalid_argument, naming the attribute, or std::bad_alloc.
  packet_pool_impl_t(rt::rank_state& state, const packet_pool_attr_t& attributes);
  ~packet_pool_impl_t();
  packet_pool_impl_t(const packet_pool_impl_t&) = delete;
  packet_pool_impl_t& operator=(const packet_pool_impl_t&) = delete;

  // Null if none was found: none is left, or others were just moving some. May throw
  // std::bad_alloc, having done nothing.
  rt::packet* get() {
    rt::packet* packet = stock_.get();
    return __builtin_expect(packet != nullptr, 1) ? packet : grow();
  }
  // For `size` bytes, from this pool if one is left and large enough, else a loose one. Throws
  // std::bad_alloc.
  rt::packet* get_for(size_t size) {
    rt::packet* const packet = size <= attr.packet_size ? get() : nullptr;
    return packet != nullptr ? packet : loose_.get(size);
  }
  // If this is the calling thread's first use of the pool and there is no memory to note that, the
  // packet stays out of the pool, and a warning is logged.
  void put(rt::packet* packet) noexcept {
    try {
      stock_.put(packet);
    } catch (const std::bad_alloc&) {
      report_lost();
    }
  }

  // The packet whose bytes begin at `buffer`, if it is one of this pool.
  rt::packet* find(const void* buffer) const {
    const auto offset = reinterpret_cast<uintptr_t>(buffer) - reinterpret_cast<uintptr_t>(base_);
    if (__builtin_expect(offset >= bytes_ || offset % stride_ != sizeof(rt::packet), 1)) {
      return nullptr;
    }
    return rt::packet::of(const_cast<void*>(buffer));
  }

  // Packets that are not in the pool now. Exact while nobody gets or puts any.
  size_t in_use() const;
  // Sets the members of *out.
  void read(packet_pool_counters_t* out) const;

  // For a network that needs registrations; until forget().
  rt::packet_regions& regions(net_context_impl_t& context);
  // Before a net context ends.
  void forget(net_context_impl_t& context);

  runtime_impl_t& runtime;
  const packet_pool_attr_t attr;
  std::atomic<int> devices{0};  // that use it

 private:
  friend void rt::put_checked(rt::packet* returned);
  // Some that were never used, one of them for the caller. Null if there are none.
  rt::packet* grow();
  void report_lost();

  friend class rt::packet_regions;

  const size_t stride_;  // bytes from packet to packet
  size_t bytes_ = 0;
  unsigned char* base_ = nullptr;

  struct owner_of {
    uint32_t operator()(const rt::packet& packet) const { return packet.owner_; }
  };
  ds::stealing_pool<rt::packet, owner_of> stock_;

  std::mutex growth_;
  std::atomic<size_t> used_{0};  // packets that have ever been used; written under growth_

  std::atomic<uint64_t> exhausted_{0};  // gets that found none left
  rt::loose_packets loose_;
  rt::returned_packets returned_;

  rt::rank_state& state_;
  std::mutex regions_mutex_;
  // Guarded by regions_mutex_.
  std::vector<std::pair<net_context_impl_t*, std::unique_ptr<rt::packet_regions>>> regions_;
};

inline size_t rt::packet_regions::slab_of(const packet& one) const {
  return static_cast<size_t>(reinterpret_cast<const unsigned char*>(&one) - pool_.base_) >>
         slab_bits;
}

inline void rt::packet::put() {
  if (__builtin_expect(pool_ != nullptr, 1)) {
    pool_->put(this);
  } else {
    loose_packets::put(this);
  }
}

}  // namespace lci

#endif  // LCI_RUNTIME_RESOURCES_PACKET_H_
