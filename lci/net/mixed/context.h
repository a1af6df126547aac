#ifndef LCI_NET_MIXED_CONTEXT_H_
#define LCI_NET_MIXED_CONTEXT_H_

#include <memory>
#include <string>
#include <utility>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/group.h"
#include "lci/net/backend.h"
#include "lci/net/mixed/hosts.h"
#include "lci/net/shm/context.h"

namespace lci::net::mixed {

// A context of each of two networks. Near: the ranks of this host; far: all ranks (no rank uses it
// to reach the ranks of its own host). Thread safety: as net::context says.
class mixed_context final : public context {
 public:
  static base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot,
                                                       const context_config& config);

  const char* name() const override { return "mixed"; }
  std::string description() const override;
  base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override;
  base::StatusOr<local_region> register_memory(void* address, size_t size) override;
  void deregister_memory(local_region region) override;
  base::StatusOr<allocation> allocate_memory(size_t size) override;
  void free_memory(const allocation& freed) override;
  remote_region remote_key(local_region region) const override;
  bool maps_memory_of(int rank) const override {
    return near_rank(rank) >= 0 && near_->maps_memory_of(near_rank(rank));
  }
  void* map_memory(int rank, remote_region region, size_t size) override;
  bool reaches_memory(int rank) const override {
    return near_rank(rank) >= 0 && near_->reaches_memory(near_rank(rank));
  }
  bool read_memory(int rank, void* to, uint64_t from, size_t size) const override {
    return near_rank(rank) >= 0 && near_->read_memory(near_rank(rank), to, from, size);
  }
  bool write_memory(int rank, uint64_t to, const void* from, size_t size) const override {
    return near_rank(rank) >= 0 && near_->write_memory(near_rank(rank), to, from, size);
  }
  size_t registrations() const override { return near_->registrations() + far_->registrations(); }

 private:
  mixed_context(boot::bootstrap& boot, hosts found)
      : boot_(boot), hosts_(std::move(found)), group_(boot, "h", hosts_.neighbors) {}
  // Of this host, as the near network counts them; -1: on another host.
  int near_rank(int rank) const { return hosts_.index[static_cast<size_t>(rank)]; }
  // The far registration of memory that is registered near, and one name for both. On an error
  // there is no far one.
  base::StatusOr<local_region> join_far(local_region near, void* address, size_t size);

  boot::bootstrap& boot_;
  const hosts hosts_;
  boot::group_bootstrap group_;
  std::unique_ptr<shm::shm_context> near_;
  std::unique_ptr<context> far_;
};

}  // namespace lci::net::mixed

#endif  // LCI_NET_MIXED_CONTEXT_H_
