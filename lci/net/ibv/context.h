#ifndef LCI_NET_IBV_CONTEXT_H_
#define LCI_NET_IBV_CONTEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/ds/spinlock.h"
#include "lci/net/backend.h"
#include "lci/net/ibv/connections.h"
#include "lci/net/ibv/monitor_ring.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/regions.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

class rdma_device;

// Connects the ranks of a job, on any hosts, each through one port of an RDMA device. Thread
// safety: that of net::context.
class rdma_context final : public context {
 public:
  static base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot,
                                                       const context_config& config);
  // Uses the devices behind `library`, which outlives the context.
  static base::StatusOr<std::unique_ptr<context>> make_with(const verbs& library,
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
  const verbs& library() const { return verbs_; }
  const port& local_port() const { return port_; }
  const region_table& regions() const { return *regions_; }
  const context_config& config() const { return config_; }
  // The ways to all ranks. All address handles are made at start: resolving the route to a host
  // that is gone may take the kernel a second.
  routes ways() const { return {addresses_, address_handles_, ring_}; }
  // Whether queue pairs are connected when they are first used, except those between neighbors in
  // the monitor ring.
  bool connects_on_demand() const { return size() > config_.ibv_eager_ranks; }
  // The devices that connect on demand. A poll of one of them answers the datagrams of all: a rank
  // that waits in one device must not delay peers that connect through another.
  void add_on_demand(rdma_device& added);
  void remove_on_demand(rdma_device& removed);
  void answer_datagrams_except(const rdma_device& one);

 private:
  rdma_context(const verbs& library, boot::bootstrap& boot, const context_config& config);
  base::Status exchange_addresses(const base::Status& opened);
  base::Status find_routes();

  const verbs& verbs_;
  boot::bootstrap& boot_;
  const context_config config_;
  port port_;
  std::unique_ptr<region_table> regions_;
  std::vector<port_address> addresses_;   // by rank
  std::vector<owned<ibv_ah>> routes_;     // one per port
  std::vector<ibv_ah*> address_handles_;  // by rank; owned by routes_
  monitor_ring ring_;
  ds::spinlock on_demand_lock_;
  std::vector<rdma_device*> on_demand_devices_;  // guarded by on_demand_lock_
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_CONTEXT_H_
