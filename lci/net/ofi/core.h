#ifndef LCI_NET_OFI_CORE_H_
#define LCI_NET_OFI_CORE_H_

#include <rdma/fi_domain.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/wakeup.h"
#include "lci/ds/spinlock.h"
#include "lci/net/completion_sink.h"
#include "lci/net/ofi/domain.h"
#include "lci/net/ofi/endpoint.h"
#include "lci/net/ofi/packets.h"
#include "lci/net/peer_health.h"
#include "lci/net/pending_ranks.h"

namespace lci::net::ofi {

// The libfabric objects of a device, which a forked child must not touch. Closed from the last to
// the first.
struct resources {
  resources() = default;
  resources(const resources&) = delete;
  resources& operator=(const resources&) = delete;
  ~resources() {
    if (own_domain != nullptr) own_domain->remove_all();
  }

  std::shared_ptr<fid_fabric> fabric;
  std::unique_ptr<domain> own_domain;
  domain* active_domain = nullptr;  // own_domain, or the one that all devices share
  packet_memory outgoing;
  packet_memory incoming;
  endpoint ep;
};

// The state that the parts of a device share (device.h lists them). All of it is guarded by the
// lock, except what is constant after the device is made.
struct device_core {
  // Between two checks for failures (failure_detector.h).
  static constexpr std::chrono::milliseconds check_interval{100};

  device_core(int device_uid, int own_rank, int all_ranks)
      : uid(device_uid),
        rank(own_rank),
        ranks(all_ranks),
        own(new resources),
        health("ofi", ranks, peer_state::alive, check_interval),
        addresses(static_cast<size_t>(ranks), FI_ADDR_UNSPEC),
        heard(static_cast<size_t>(ranks)),
        pending(ranks) {}

  bool is_self(int peer) const { return peer == rank; }
  bool is_alive_peer(int peer) const { return !is_self(peer) && health.is_alive(peer); }
  fi_addr_t address(int peer) const { return addresses[static_cast<size_t>(peer)]; }

  // There is a sign that the peer has failed. `reason`: as for peer_health::suspect.
  void suspect(int peer, std::string_view reason) {
    if (health.suspect(peer, reason)) heard[static_cast<size_t>(peer)] = emptied;
  }

  // The peer has work for the next poll: packets or answers to send, or credits to return.
  void add_pending(int peer) {
    if (!pending.contains(peer)) push_pending(peer);
  }
  // Wakes a sleeping thread for work that the completion queue does not signal.
  [[gnu::noinline]] void wake_sleeper() {
    if (sleeper.is_armed()) sleeper.wake();
  }

  // Constant after the device is made.
  const int uid;
  const int rank;
  const int ranks;
  std::shared_ptr<resources> own;
  // The resources of ranks that are threads of this process, kept open while this rank may send to
  // them: the provider shm accesses endpoints of its own process directly, even closed ones.
  std::vector<std::shared_ptr<resources>> others;
  fid_ep* ep = nullptr;  // of `own`
  fid_cq* cq = nullptr;  // of `own`
  ds::spinlock own_lock;
  ds::spinlock* lock = &own_lock;  // or that of the device's domain

  peer_health health;
  base::aligned_vector<fi_addr_t> addresses;  // by rank
  base::aligned_vector<uint32_t> heard;       // by rank: `emptied` when its last packet arrived
  uint32_t looks = 1;                         // reads of the completion queue
  uint32_t emptied = 0;                       // reads that left the completion queue empty
  pending_ranks pending;
  completion_sink sink;
  base::wakeup sleeper;  // open if a thread may sleep

 private:
  // Out of line: each coalesced message only checks whether its rank is pending already.
  [[gnu::noinline]] void push_pending(int peer) {
    pending.add(peer);
    wake_sleeper();
  }
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_CORE_H_
