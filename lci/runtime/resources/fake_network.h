// A network for tests that only knows what is registered with it.
#ifndef LCI_RUNTIME_RESOURCES_FAKE_NETWORK_H_
#define LCI_RUNTIME_RESOURCES_FAKE_NETWORK_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "lci/base/status.h"
#include "lci/net/backend.h"
#include "lci/net/op.h"

namespace lci::rt {

// It reports what is deregistered twice, and what is left at its end.
//
// Thread safety: register_memory and all that follow it by any thread at any time.
class fake_network final : public net::context {
 public:
  // Takes `room` registrations at one time.
  explicit fake_network(size_t room = 1000000) : room_(room) {}
  ~fake_network() override { EXPECT_TRUE(open_.empty()) << "left registered"; }

  const char* name() const override { return "fake"; }
  base::StatusOr<std::unique_ptr<net::device>> make_device(const net::device_config&) override {
    return base::UnimplementedError("it has none");
  }
  base::StatusOr<net::local_region> register_memory(void* address, size_t size) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (open_.size() >= room_) return base::ResourceExhaustedError("full");
    const auto first = reinterpret_cast<uintptr_t>(address);
    open_[++last_] = {first, first + size};
    return net::local_region{last_};
  }
  void deregister_memory(net::local_region region) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    EXPECT_EQ(open_.erase(region.handle), 1u);
  }
  net::remote_region remote_key(net::local_region) const override { return {}; }

  // Whether the region has `size` bytes from `address` on.
  bool covers(net::local_region region, const void* address, size_t size) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = open_.find(region.handle);
    const auto first = reinterpret_cast<uintptr_t>(address);
    return found != open_.end() && found->second.first <= first &&
           first + size <= found->second.second;
  }
  // Whether `address` is that many bytes behind the start of the region.
  bool is_at(net::local_region region, uint64_t offset, const void* address) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = open_.find(region.handle);
    return found != open_.end() &&
           found->second.first + offset == reinterpret_cast<uintptr_t>(address);
  }
  size_t open() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return open_.size();
  }
  void set_room(size_t room) {
    const std::lock_guard<std::mutex> guard(mutex_);
    room_ = room;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  size_t room_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::pair<uintptr_t, uintptr_t>> open_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_RESOURCES_FAKE_NETWORK_H_
