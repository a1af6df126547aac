#ifndef LCI_NET_MIXED_DEVICE_H_
#define LCI_NET_MIXED_DEVICE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lci/net/backend.h"
#include "lci/net/mixed/hosts.h"

namespace lci::net::mixed {

// A device of each of two networks. Messages between ranks of this host use the near one, so the
// order between two ranks is that of one network. The upmost bit of a lease, which neither network
// uses, names the network that the lease is from.
//
// A look at the far network costs a system call with some providers, about as long as a message
// takes to a neighbor: one poll of some looks there, and one of more while there is something near
// (see device.cc).
//
// Thread safety: as net::device says.
class mixed_device final : public device {
 public:
  mixed_device(const hosts& where, std::unique_ptr<device> near, std::unique_ptr<device> far);

  using device::limits;
  const device_limits& limits(int rank) const override {
    return near_index(rank) >= 0 ? near_limits_ : far_limits_;
  }
  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  bool is_got_sooner(int rank, size_t size, bool alone) const override;
  void came(int rank, size_t size, bool got, std::chrono::nanoseconds time) override;
  bool read_memory(int rank, void* to, uint64_t from, size_t size) override;
  void* mapped_address(int rank, remote_region remote, uint64_t remote_offset,
                       size_t size) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  bool has_left(int rank) override;
  bool has_died(int rank) override;
  std::optional<bool> has_arrivals() override;
  // Of the far network. No descriptor becomes ready for messages of neighbors: a sleeping thread
  // wakes up now and then to poll for them.
  std::vector<int> wait_descriptors() const override { return far_->wait_descriptors(); }
  std::chrono::microseconds arm() override { return std::min(near_->arm(), far_->arm()); }

 private:
  // -1: elsewhere
  int near_index(int rank) const { return hosts_.index[static_cast<size_t>(rank)]; }
  error_t poll_near(completion* out, size_t max, size_t* count);
  error_t poll_far(completion* out, size_t max, size_t* count);

  const hosts& hosts_;
  const device_limits near_limits_;
  const device_limits far_limits_;
  // Counted by all threads that poll (not each by itself: one may poll several devices in turn).
  // The counters are not exact: an addition may get lost.
  alignas(64) std::atomic<uint32_t> since_look_{0};
  std::atomic<uint32_t> near_polls_{0};
  // The far one ends first: its end may need neighbors to poll their far device, and neighbors that
  // wait for nothing near do so.
  alignas(64) const std::unique_ptr<device> near_;
  const std::unique_ptr<device> far_;
};

}  // namespace lci::net::mixed

#endif  // LCI_NET_MIXED_DEVICE_H_
