#ifndef LCI_NET_IBV_CONTEXT_H_
#define LCI_NET_IBV_CONTEXT_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/ds/spinlock.h"
#include "lci/net/backend.h"
#include "lci/net/ibv/circle.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/regions.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

class rdma_device;

wanted_port wanted_from(const context_config& config);

// The ranks of a job, on any hosts, each through one port of an RDMA device. Thread safety: as
// net::context says.
class rdma_context final : public context {
 public:
  static base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot,
                                                       const context_config& config);
  // With devices of the caller's; `with` outlives the context.
  static base::StatusOr<std::unique_ptr<context>> make_with(const verbs& with,
                                                            boot::bootstrap& boot,
                                                            const context_config& config);
  ~rdma_context() override;

  const char* name() const override { return "ibv"; }
  std::string description() const override;
  base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override;
  base::StatusOr<local_region> register_memory(void* address, size_t size) override {
    if (base::Status none_left = registrations_.add(1); !none_left.ok()) return none_left;
    base::StatusOr<local_region> opened = regions_->open(address, size);
    if (!opened.ok()) registrations_.remove(1);
    return opened;
  }
  void deregister_memory(local_region region) override {
    regions_->close(region);
    registrations_.remove(1);
  }
  remote_region remote_key(local_region region) const override { return regions_->remote(region); }

  int rank() const { return boot_.rank(); }
  int size() const { return boot_.size(); }
  const verbs& with() const { return verbs_; }
  const port& through() const { return port_; }
  const region_table& regions() const { return *regions_; }
  const context_config& config() const { return config_; }
  const port_address& address_of(int rank) const { return addresses_[static_cast<size_t>(rank)]; }
  // For datagrams. Made at start: to find the way to a host that is gone may take the kernel a
  // second.
  ibv_ah* way_to(int rank) const { return ways_[static_cast<size_t>(rank)]; }
  const circle& ranks_around() const { return circle_; }
  // Queue pairs are connected when they are first used, but for those of neighbours in the circle.
  bool connects_late() const { return size() > config_.ibv_eager_ranks; }
  // Devices that connect on first use: whoever polls one of them lets all of them answer, since a
  // rank that waits in one device must not keep those waiting who want to reach it through another.
  void add_late(rdma_device& added);
  void remove_late(rdma_device& removed);
  void meet_all_but(const rdma_device& one);

  // False in a child that was forked off: nothing here belongs to it.
  bool is_ours() const;

 private:
  rdma_context(const verbs& with, boot::bootstrap& boot, const context_config& config);
  base::Status meet(const base::Status& opened);
  base::Status find_routes();

  const verbs& verbs_;
  boot::bootstrap& boot_;
  const context_config config_;
  const pid_t pid_;
  port port_;
  std::unique_ptr<region_table> regions_;
  std::vector<port_address> addresses_;  // by rank
  std::vector<owned<ibv_ah>> routes_;    // one for each port
  std::vector<ibv_ah*> ways_;            // by rank
  circle circle_;
  ds::spinlock late_lock_;
  std::vector<rdma_device*> late_;  // guarded by late_lock_
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_CONTEXT_H_
