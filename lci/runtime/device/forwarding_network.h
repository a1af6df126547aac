// A network in front of another, which looks at what passes through it.
#ifndef LCI_RUNTIME_DEVICE_FORWARDING_NETWORK_H_
#define LCI_RUNTIME_DEVICE_FORWARDING_NETWORK_H_

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lci/net/backend.h"

namespace lci::rt {

// Forwards to another device of the network all calls but those that carry operations and
// completions, which a derived class forwards itself.
//
// The contract is that of net::device.
class forwarding_network : public net::device {
 public:
  explicit forwarding_network(std::unique_ptr<net::device> network)
      : device(network->limits()), network_(std::move(network)) {}

  using device::limits;
  const net::device_limits& limits(int rank) const override { return network_->limits(rank); }
  bool add(int rank, net::remote_region remote, uint64_t remote_offset, int64_t value) override {
    return network_->add(rank, remote, remote_offset, value);
  }
  bool is_got_sooner(int rank, size_t size, bool alone) const override {
    return network_->is_got_sooner(rank, size, alone);
  }
  void came(int rank, size_t size, bool got, std::chrono::nanoseconds time) override {
    network_->came(rank, size, got, time);
  }
  bool read_memory(int rank, void* to, uint64_t from, size_t size) override {
    return network_->read_memory(rank, to, from, size);
  }
  void* mapped_address(int rank, net::remote_region remote, uint64_t remote_offset,
                       size_t size) override {
    return network_->mapped_address(rank, remote, remote_offset, size);
  }
  void release(const net::completion& received) override { network_->release(received); }
  bool drained() override { return network_->drained(); }
  bool has_left(int rank) override { return network_->has_left(rank); }
  bool has_died(int rank) override { return network_->has_died(rank); }
  std::optional<bool> has_arrivals() override { return network_->has_arrivals(); }
  std::vector<int> wait_descriptors() const override { return network_->wait_descriptors(); }
  std::chrono::microseconds arm() override { return network_->arm(); }

 protected:
  const std::unique_ptr<net::device> network_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_FORWARDING_NETWORK_H_
