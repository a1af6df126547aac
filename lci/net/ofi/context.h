#ifndef LCI_NET_OFI_CONTEXT_H_
#define LCI_NET_OFI_CONTEXT_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/backend.h"
#include "lci/net/ofi/domain.h"
#include "lci/net/ofi/fid.h"
#include "lci/net/ofi/processes.h"
#include "lci/net/ofi/provider.h"
#include "lci/net/ofi/regions.h"

namespace lci::net::ofi {

// Connects the ranks of a job, on any hosts, through one provider of libfabric. Thread safety: that
// of net::context. Each region is registered immediately in every device's domain, since a peer may
// reach the memory through any device.
class ofi_context final : public context {
 public:
  static base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot,
                                                       const context_config& config);
  ~ofi_context() override;

  const char* name() const override { return "ofi"; }
  std::string description() const override;
  base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override;
  base::StatusOr<local_region> register_memory(void* address, size_t size) override;
  void deregister_memory(local_region region) override;
  void free_memory(const allocation& freed) override;
  remote_region remote_key(local_region region) const override;

  int rank() const { return boot_.rank(); }
  int size() const { return boot_.size(); }
  const provider& chosen_provider() const { return provider_; }
  const std::shared_ptr<fid_fabric>& fabric() const { return fabric_; }
  region_table& regions() { return regions_; }

  const process_table& processes() const { return processes_; }

  registration_count& registration_counter() { return registrations_; }
  // The domain that all devices share, or null if each has its own.
  domain* shared_domain() const { return shared_domain_.get(); }
  // Registers all regions, and those opened later, in `added`, which is complete (see
  // domain::bind).
  base::Status add_domain(domain& added);
  void remove_domain(domain& removed);

 private:
  ofi_context(boot::bootstrap& boot, uint64_t first_key, size_t max_registrations)
      : context(max_registrations), boot_(boot), regions_(first_key) {}
  base::Status open(const wanted_provider& wanted);
  // Frees kept memory that no peer accesses any more, or all.
  void free_kept(bool all);

  boot::bootstrap& boot_;
  process_table processes_;
  provider provider_;
  std::shared_ptr<fid_fabric> fabric_;
  region_table regions_;
  std::mutex mutex_;
  std::vector<domain*> domains_;  // guarded by mutex_
  std::unique_ptr<domain> shared_domain_;
  std::mutex kept_mutex_;         // taken before mutex_
  std::vector<allocation> kept_;  // guarded by kept_mutex_; see free_memory
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_CONTEXT_H_
