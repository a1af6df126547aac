#ifndef LCI_NET_SHM_CONTEXT_H_
#define LCI_NET_SHM_CONTEXT_H_

#include <sys/types.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/backend.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/segment.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// What this rank knows of another (or of itself).
class peer {
 public:
  peer() = default;
  ~peer();
  peer(peer&& other) noexcept;
  peer& operator=(peer&&) = delete;

  // The process has ended. Never blocks; a system call.
  bool has_ended() const;

  pid_t pid = 0;
  uint64_t probe = 0;  // address there of 8 bytes that hold layout_version
  int pidfd = -1;      // owned; -1 where the kernel has none
  segment directory;   // read-only view of its registrations; of ourselves the original
  const region_slot* regions() const {
    return reinterpret_cast<const region_slot*>(directory.data() + page_size);
  }
};

// The ranks of one host, and the memory that they open to each other. Thread safety: as
// net::context says.
class shm_context final : public context {
 public:
  static absl::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot);

  const char* name() const override { return "shm"; }
  absl::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override;
  absl::StatusOr<local_region> register_memory(void* address, size_t size) override {
    return regions_.open(address, size);
  }
  void deregister_memory(local_region region) override { regions_.close(region); }
  remote_region remote_key(local_region region) const override { return regions_.remote(region); }

  int rank() const { return boot_.rank(); }
  int size() const { return boot_.size(); }
  const peer& rank_at(int rank) const { return peers_[static_cast<size_t>(rank)]; }

 private:
  explicit shm_context(boot::bootstrap& boot) : boot_(boot) {}
  absl::Status meet();
  absl::Status check_copying();

  boot::bootstrap& boot_;
  region_table regions_;
  std::vector<peer> peers_;                // by rank
  const uint64_t probe_ = layout_version;  // what peers read to see whether they can
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_CONTEXT_H_
