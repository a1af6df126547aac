#ifndef LCI_NET_SHM_CONTEXT_H_
#define LCI_NET_SHM_CONTEXT_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/process.h"
#include "lci/net/backend.h"
#include "lci/net/shm/descriptor_passing.h"
#include "lci/net/shm/distance.h"
#include "lci/net/shm/heap.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/segment.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// How this rank puts to and gets from another, which does so in the same way.
enum class reach : uint8_t {
  here,           // ourselves, or a thread of our process: plain copies
  kernel,         // process_vm_writev and process_vm_readv
  target_copies,  // the kernel doesn't let one of us: the other rank copies when it polls
};

// A peer (or this rank itself), as this rank knows it.
class peer {
 public:
  peer() = default;
  ~peer();
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  // The process has ended. System calls; waits for that for so long, by default not at all.
  bool has_ended(int milliseconds = 0) const;
  // The process has ended, or ends: its memory is gone, a moment before it can be waited for.
  bool has_died() const;
  // The process has ended, or runs another program. Reads a file.
  bool is_replaced() const { return !boot::is_alive(process); }
  // Where the bytes are in our own addresses; null if they aren't.
  unsigned char* mapped(const open_bytes& bytes) const {
    if (views == nullptr) return in_own_process(bytes);
    if (bytes.backing == 0) return nullptr;
    unsigned char* data = views->find(bytes.backing, bytes.address - bytes.offset);
    return data == nullptr ? nullptr : data + bytes.offset;
  }
  // The same, but null if mapped() never was asked for that block: makes no call.
  unsigned char* mapped_before(const open_bytes& bytes) const {
    if (views == nullptr) return in_own_process(bytes);
    if (bytes.backing == 0) return nullptr;
    unsigned char* const data = views->find_known(bytes.backing);
    return data == nullptr ? nullptr : data + bytes.offset;
  }

  const region_slot* regions() const {
    return reinterpret_cast<const region_slot*>(directory.data() + page_size);
  }

  pid_t pid = 0;             // 0: it has no number here
  boot::process_id process;  // the same in the numbers of /proc
  int pidfd = -1;            // owned; -1 where the kernel has none
  // One of us may not open the other one's memory by its name, so we pass its descriptors.
  bool is_hidden = false;
  reach access = reach::here;
  segment directory;  // read-only view of its registrations
  uint64_t directory_token = 0;
  // The blocks of its heap that we have mapped. Null for ourselves and threads of our process.
  std::unique_ptr<heap_views> views;
  // For map_memory, of a thread of our process: its own mapping ends with its own context.
  std::unique_ptr<heap_views> thread_views;

 private:
  unsigned char* in_own_process(const open_bytes& bytes) const {
    if (access != reach::here) return nullptr;
    return reinterpret_cast<unsigned char*>(static_cast<uintptr_t>(bytes.address));
  }
};

// The ranks of one host, and the memory that they open to each other. Thread safety: as
// net::context says.
//
// LCI_SHM_CMA=auto|on|off says whether puts and gets may copy between processes through the kernel
// ("cross-memory attach"). auto: where it lets us, by a try with each peer at start. on: an error
// where it doesn't. off: never, also not between ranks that are threads of one process (for tests).
//
// LCI_SHM_DISTANCE=auto|near|far says whether the processors of two ranks count as distant. auto:
// as measured (distance.h).
class shm_context final : public context {
 public:
  static base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot,
                                                       const context_config& config);
  ~shm_context() override;

  const char* name() const override { return "shm"; }
  base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override;
  base::StatusOr<local_region> register_memory(void* address, size_t size) override {
    return open(address, size, 0);
  }
  void deregister_memory(local_region region) override { close(region); }
  base::StatusOr<allocation> allocate_memory(size_t size) override;
  void free_memory(const allocation& freed) override;
  bool maps_memory() const override { return true; }
  void* map_memory(int rank, remote_region region, size_t size) override;
  distance_mode assumed_distance() const { return assumed_distance_; }
  bool reaches_memory(int rank) const override {
    return rank_at(rank).access != reach::target_copies;
  }
  bool read_memory(int rank, void* to, uint64_t from, size_t size) const override;
  bool write_memory(int rank, uint64_t to, const void* from, size_t size) const override;
  remote_region remote_key(local_region region) const override { return regions_.remote(region); }
  // A key of the caller's choice, as region_table says.
  void rename(local_region region, uint64_t key) { regions_.rename(region, key); }

  int rank() const { return boot_.rank(); }
  int size() const { return boot_.size(); }
  const peer& rank_at(int rank) const { return peers_[static_cast<size_t>(rank)]; }
  // Between here and a rank that is reached `here` or by `kernel`. False: not all of it could be
  // copied, which is logged with the reason, unless the rank's process has ended.
  bool copy(int rank, copy_direction direction, void* local, uint64_t remote, size_t size) const;
  region_table& regions() { return regions_; }
  // Some rank can only be reached by asking.
  bool any_target_copies() const;
  // Collective, as pass_descriptors() among the ranks that are hidden from each other. Does nothing
  // if there are none, as is usual.
  base::Status pass(std::string_view name, const std::vector<int>& own,
                    const accept_descriptors& accept);
  // Why something failed that concerns a rank: Aborted, which the job then knows, if its process
  // has ended; else as `failure`, naming the rank.
  base::Status reason(int rank, const base::Status& failure) const;

 private:
  bool copy_memory(int rank, copy_direction direction, void* local, uint64_t remote,
                   size_t size) const;

  shm_context(boot::bootstrap& boot, const context_config& config)
      : context(config.max_registrations), boot_(boot) {}
  // As region_table's; counted.
  base::StatusOr<local_region> open(void* address, size_t size, uint64_t backing);
  void close(local_region region);
  base::StatusOr<std::string> introduce();
  base::Status add_peer(int rank, const std::string& bytes);
  base::Status open_directory(const introduction& theirs, peer* other) const;
  base::StatusOr<reach> find_reach(const peer& other, const introduction& theirs) const;
  // What this rank may not do to others, and what another one may not.
  std::string list_limits() const;
  void take_limits(int other, std::string_view bits);
  // Collective, if ranks are hidden from each other. Memory is allocated at any time, when these do
  // not meet, so they get the reserves of each other's heaps now.
  base::Status share_reserves();
  base::StatusOr<std::string> offer_reserve();
  base::Status accept_reserve(int other, const std::string& bytes, reserve_offer* offer);
  // `reserves`: by rank.
  base::Status pass_directories(const std::vector<reserve_offer>& reserves);

  boot::bootstrap& boot_;
  distance_mode assumed_distance_ = distance_mode::measured;
  segment own_directory_;
  introduction local_ = {};
  segment_heap heap_;
  region_table regions_;
  base::aligned_array<peer> peers_;  // by rank
  bool any_hidden_ = false;          // some rank from some other: equal on all ranks
  uint64_t probe_ = 0;  // what peers read to see whether they can: our directory's token
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_CONTEXT_H_
