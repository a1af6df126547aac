#ifndef LCI_RUNTIME_CORE_RANK_STATE_H_
#define LCI_RUNTIME_CORE_RANK_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/comp.hpp"
#include "lci/api/counters.hpp"
#include "lci/api/runtime.hpp"
#include "lci/api/types.hpp"
#include "lci/ds/mpmc_array.h"
#include "lci/observe/recorder.h"
#include "lci/runtime/core/roster.h"
#include "lci/runtime/core/rotating_size_class.h"
#include "lci/runtime/core/wire.h"

namespace lci {

class comp_impl_t;
class device_impl_t;
class net_context_impl_t;
class packet_pool_impl_t;
class runtime_impl_t;

namespace rt {

class checker;
class event_signal;

// Tasks of a runtime that progress on its devices carries out. See runtime_impl_t.
class runtime_events {
 public:
  virtual bool advance_collectives() = 0;
  virtual int note_failure(int rank) = 0;
  virtual void defer_failure(const peer_failure_error& failure) = 0;

 protected:
  ~runtime_events() = default;
};

// The state that all parts of a runtime share on one rank: its number, the failed ranks, the
// objects that other ranks may name, and the memory for messages. It depends on none of the parts.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class rank_state {
 public:
  // `owner` is for handles; nothing here looks into it.
  rank_state(runtime_impl_t& owner, int rank, int size, const runtime_attr_t& attributes,
             observe::event_sink record);
  rank_state(const rank_state&) = delete;
  rank_state& operator=(const rank_state&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const runtime_attr_t& attr() const { return attr_; }
  // How 32 bits name a completion object and a tag. Once the attributes have been compared.
  const imm_layout& imm() const { return imm_; }
  // False if this rank does not record.
  const observe::event_sink& record() const { return record_; }
  // Null unless the operations of this rank are checked (LCI_CHECK). Then its devices are watched.
  checker* checks() const { return checks_; }
  bool counts_traffic() const { return counts_traffic_; }

  // Ranks that are gone.
  bool has_failed(int rank) const {
    return failed_[static_cast<size_t>(rank)].load(std::memory_order_acquire);
  }
  bool any_failed() const { return first_failed_.load(std::memory_order_acquire) >= 0; }
  int first_failed() const { return first_failed_.load(std::memory_order_acquire); }
  // Only notes it: see engine_registry::fail_peer and rendezvous::fail_peer.
  void mark_failed(int rank);

  // Completion objects that other ranks can name.
  rcomp_t reserve_rcomps(rcomp_t n, const char* call);
  // `comp` null: the name means nothing from now on.
  void set_rcomp(rcomp_t rcomp, comp_impl_t* comp);
  // Ends all registrations of the object. Returns the names that it had.
  std::vector<rcomp_t> forget_comp(const comp_impl_t& comp);
  // All objects with their names. Not for fast paths.
  std::vector<std::pair<rcomp_t, comp_impl_t*>> list_rcomps() const;
  // Throws std::runtime_error, naming the sender, if nothing is registered as `rcomp`.
  comp_impl_t* find_rcomp(rcomp_t rcomp, int sender) const {
    comp_impl_t* comp = rcomps_.get(rcomp);
    if (__builtin_expect(comp == nullptr, 0)) report_no_rcomp(rcomp, sender);
    return comp;
  }

  // Signals, by the numbers that ranks name them by to each other. No number is given twice.
  uint32_t add_signal(event_signal* signal);
  void remove_signal(uint32_t number);
  // Throws std::runtime_error, naming the sender, if there is none (any more).
  event_signal* find_signal(uint32_t number, int sender) const {
    event_signal* signal = signals_.get(number);
    if (__builtin_expect(signal == nullptr, 0)) report_no_signal(number, sender);
    return signal;
  }
  // Null if there is none.
  event_signal* signal_at(uint32_t number) const { return signals_.get(number); }
  int signals_alive() const { return signals_alive_.load(std::memory_order_acquire); }

  // Memory for a message from `sender`; null for size 0. Throws std::runtime_error if there is
  // none.
  void* allocate(size_t size, int sender) {
    if (size == 0) return nullptr;
    // No virtual call in nearly all programs.
    void* const memory = has_default_allocator() ? std::malloc(rotating_size_class(size)) : nullptr;
    return __builtin_expect(memory != nullptr, 1) ? memory : allocate_otherwise(size, sender);
  }
  [[noreturn]] void report_no_memory(size_t size, int sender) const;
  allocator_base_t& allocator() { return *allocator_; }
  bool has_default_allocator() const { return allocator_ == &g_allocator_default; }
  void set_allocator(allocator_base_t* allocator) { allocator_ = allocator; }

  // Collective operations that no thread waits for. progress() advances them by events().
  bool has_pending_collectives() const {
    return pending_collectives_.load(std::memory_order_relaxed) != 0;
  }
  void count_pending_collectives(int more) {
    pending_collectives_.fetch_add(more, std::memory_order_acq_rel);
  }

  // All of them are listed from the end of their construction to the beginning of their end.
  roster<device_impl_t>& devices() { return devices_; }
  roster<packet_pool_impl_t>& packet_pools() { return packet_pools_; }
  roster<net_context_impl_t>& net_contexts() { return net_contexts_; }

  // Before the first device.
  runtime_events& events() const { return *events_; }

  // The counts of a device that ends, and the sums of all those. With the lock of devices().
  void add_to_freed(const device_counters_t& last);
  const device_counters_t& freed_devices() const { return freed_devices_; }

  runtime_impl_t& owner;

 protected:
  // Before any other thread or device knows of this object.
  runtime_attr_t& mutable_attr() { return attr_; }
  void set_checks(checker* checks) { checks_ = checks; }
  void set_imm(const imm_layout& imm) { imm_ = imm; }
  void set_events(runtime_events* events) { events_ = events; }

 private:
  [[noreturn]] void report_no_rcomp(rcomp_t rcomp, int sender) const;
  [[noreturn]] void report_no_signal(uint32_t number, int sender) const;
  void* allocate_otherwise(size_t size, int sender);

  const int rank_;
  const int size_;
  runtime_attr_t attr_;
  imm_layout imm_;
  const bool counts_traffic_;
  const observe::event_sink record_;
  checker* checks_ = nullptr;
  allocator_base_t* allocator_ = &g_allocator_default;
  std::unique_ptr<std::atomic<bool>[]> failed_;  // by rank
  std::atomic<int> first_failed_{-1};
  std::atomic<int> pending_collectives_{0};
  runtime_events* events_ = nullptr;

  mutable std::mutex rcomp_mutex_;  // orders reservations; look-ups take no lock
  rcomp_t next_rcomp_ = 1;          // guarded by rcomp_mutex_
  ds::mpmc_array<comp_impl_t*> rcomps_;
  // The address of each registered object, with a name: those of one object follow each other.
  std::set<std::pair<uintptr_t, rcomp_t>> names_of_comps_;  // guarded by rcomp_mutex_

  std::atomic<uint32_t> next_signal_{1};
  std::atomic<int> signals_alive_{0};
  ds::mpmc_array<event_signal*> signals_;

  roster<device_impl_t> devices_;
  roster<packet_pool_impl_t> packet_pools_;
  roster<net_context_impl_t> net_contexts_;
  device_counters_t freed_devices_;  // guarded by devices_
};

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_CORE_RANK_STATE_H_
