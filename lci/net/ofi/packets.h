#ifndef LCI_NET_OFI_PACKETS_H_
#define LCI_NET_OFI_PACKETS_H_

#include <rdma/fabric.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/net/ofi/domain.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// The context of a libfabric operation. libfabric writes to the first member until the operation is
// complete (modes FI_CONTEXT and FI_CONTEXT2).
struct operation {
  fi_context2 context;
  enum class kind : uint8_t { receive, packet, access } what = kind::receive;
  int rank = -1;  // the peer, where it is known
};

// The largest packet that is injected, so that libfabric reports no completion for it.
constexpr size_t most_injected_bytes = 256;

// A buffer for a packet to send or to receive.
struct packet : operation {
  unsigned char* bytes = nullptr;
  uint32_t size = 0;               // of bytes
  uint32_t position = 0;           // of the next record to read
  uint32_t records = 0;            // coalesced
  std::atomic<uint32_t> users{0};  // leases, plus one while the device reads the packet
  packet* next = nullptr;          // in a mpsc_free_list
  bool costs = false;              // the sender spent a credit for it
  // The contexts of the sends that are complete when libfabric reports the packet.
  static constexpr uint32_t most_awaited = 16;
  uint32_t awaited = 0;
  void* contexts[most_awaited] = {};

  bool is_awaited_by_most() const { return awaited == most_awaited; }
  packet_header& header() { return *reinterpret_cast<packet_header*>(bytes); }
  // Returns whether it was the last user. The last user needs no atomic read-modify-write.
  bool drop_user() {
    return users.load(std::memory_order_acquire) == 1 ||
           users.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
};

// Packets in one block of memory, which is committed only as far as it is used.
class packet_memory {
 public:
  packet_memory() = default;
  ~packet_memory();
  packet_memory(const packet_memory&) = delete;
  packet_memory& operator=(const packet_memory&) = delete;

  base::Status make(size_t count, size_t bytes, operation::kind what);
  // `key`: for domain::register_local.
  base::Status register_in(domain& with, uint64_t key);

  size_t count() const { return count_; }
  packet& at(size_t index) const { return packets_[index]; }
  void* descriptor() const {
    return registration_ == nullptr ? nullptr : fi_mr_desc(&*registration_);
  }

 private:
  size_t count_ = 0;
  base::aligned_array<packet> packets_;
  void* memory_ = nullptr;
  size_t size_ = 0;
  fid_ptr<fid_mr> registration_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PACKETS_H_
