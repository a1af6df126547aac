#ifndef LCI_RUNTIME_RUNTIME_H_
#define LCI_RUNTIME_RUNTIME_H_

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/comp.hpp"
#include "lci/api/counters.hpp"
#include "lci/api/runtime.hpp"
#include "lci/boot/bootstrap.h"
#include "lci/ds/mpmc_array.h"
#include "lci/net/backend.h"
#include "lci/observe/recorder.h"
#include "lci/runtime/attributes.h"
#include "lci/runtime/coll/shared_memory.h"
#include "lci/runtime/comp/impl.h"
#include "lci/runtime/device.h"
#include "lci/runtime/live.h"
#include "lci/runtime/matching.h"
#include "lci/runtime/net_context.h"
#include "lci/runtime/packet.h"
#include "lci/runtime/roster.h"
#include "lci/runtime/rotating_size_class.h"
#include "lci/runtime/signal.h"
#include "lci/runtime/wire.h"

namespace lci {

class group_impl_t;

// What stands behind a runtime_t: everything that one use of the library has, made from a bootstrap
// and attributes. Knows nothing of other runtimes of the process.
//
// Resources that the program allocates know their runtime and are counted by it; free_ throws
// std::logic_error, saying by what, if one is in use or a default one.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class runtime_impl_t : public rt::live_object {
 public:
  // Collective. `boot` is the runtime's own: names used in it are not used by anybody else.
  // `defaults`: attributes of the default resources. `record`: where this rank records its events;
  // it outlives the runtime. Throws.
  runtime_impl_t(std::unique_ptr<boot::bootstrap> boot, const runtime_attr_t& attributes,
                 const global_attr_t& defaults, observe::event_sink record = {});
  // Local; see free_runtime for the collective end.
  ~runtime_impl_t();
  runtime_impl_t(const runtime_impl_t&) = delete;
  runtime_impl_t& operator=(const runtime_impl_t&) = delete;

  int rank() const { return boot_->rank(); }
  int size() const { return boot_->size(); }
  const rt::imm_layout& imm() const { return imm_; }
  const runtime_attr_t& attr() const { return attr_; }
  // What the program has allocated and not freed, as "2 devices, 1 packet pool"; empty: nothing.
  std::string left_over() const;

  // Ranks that are gone.
  bool has_failed(int rank) const {
    return failed_[static_cast<size_t>(rank)].load(std::memory_order_acquire);
  }
  bool any_failed() const { return first_failed_.load(std::memory_order_acquire) >= 0; }
  int first_failed() const { return first_failed_.load(std::memory_order_acquire); }
  // A device has noticed that a rank is gone: ends what waits for a message of that rank, and all
  // collectives. Returns the rank that the program is told: of several that have failed, the first
  // one that the job has lost, which is marked as failed, too, before any device has noticed it.
  int note_failure(int rank);
  // The part of it that concerns one rank.
  void set_failed(int rank);

  // Default resources; null if there is none.
  net_context_impl_t* default_net_context() const { return default_net_context_.get(); }
  device_impl_t* default_device() const { return default_device_.get(); }
  packet_pool_impl_t* default_packet_pool() const {
    return attr_.alloc_default_packet_pool ? packet_pool_.get() : nullptr;
  }
  // Of devices that are made without one. It takes memory only when such a device needs packets.
  packet_pool_impl_t& packet_pool() { return *packet_pool_; }
  matching_engine_impl_t* default_matching_engine() const { return default_engine_.get(); }
  matching_engine_impl_t* collective_engine() const { return collective_engine_.get(); }
  // Where the receivers of plans tell the senders their addresses.
  matching_engine_impl_t* address_engine() const { return address_engine_.get(); }

  // Collective: returns when all ranks have called it, and makes progress until then, unless this
  // thread is inside a handler. Before they wait for each other in the bootstrap, without progress:
  // over some networks what a rank has sent before leaves only while it polls, and another may need
  // it to come there.
  void gather();
  // Collective.
  net_context_impl_t* alloc_net_context(const net_context_attr_t& attributes);
  void free_net_context(net_context_impl_t* context);
  device_impl_t* alloc_device(net_context_impl_t& context, packet_pool_impl_t& packets,
                              const device_attr_t& attributes);
  void free_device(device_impl_t* device);
  mr_impl_t* register_memory(net_context_impl_t& context, void* address, size_t size,
                             const mr_attr_t& attributes);
  // Also of what alloc_memory made: then the memory goes, too.
  void deregister_memory(mr_impl_t* region);
  mr_impl_t* alloc_memory(net_context_impl_t& context, size_t size, const mr_attr_t& attributes);

  packet_pool_impl_t* alloc_packet_pool(const packet_pool_attr_t& attributes);
  void free_packet_pool(packet_pool_impl_t* pool);

  matching_engine_impl_t* alloc_matching_engine(const matching_engine_attr_t& attributes,
                                                matching_make_key_t make_key);
  void free_matching_engine(matching_engine_impl_t* engine);
  // As a message names it. Throws std::runtime_error, naming the sender, if there is none.
  rt::matching_engine& find_engine(uint32_t id, int sender) const {
    matching_engine_impl_t* engine = engines_.get(id);
    if (__builtin_expect(engine == nullptr, 0)) engine = find_group_engine(id, sender);
    return *engine;
  }

  // Completion objects that other ranks can name.
  rcomp_t reserve_rcomps(rcomp_t n);
  void set_rcomp(rcomp_t rcomp, comp_impl_t* comp);
  // Throws std::runtime_error, naming the sender, if nothing is registered as `rcomp`.
  comp_impl_t* find_rcomp(rcomp_t rcomp, int sender) const {
    comp_impl_t* comp = rcomps_.get(rcomp);
    if (__builtin_expect(comp == nullptr, 0)) report_no_rcomp(rcomp, sender);
    return comp;
  }

  // Signals, by the numbers that ranks name them by to each other. No number is given twice.
  uint32_t add_signal(rt::event_signal* signal);
  void remove_signal(uint32_t number);
  // Throws std::runtime_error, naming the sender, if there is none (any more).
  rt::event_signal* find_signal(uint32_t number, int sender) const {
    rt::event_signal* signal = signals_.get(number);
    if (__builtin_expect(signal == nullptr, 0)) report_no_signal(number, sender);
    return signal;
  }
  // What an empty completion object is registered as.
  comp_impl_t& no_comp() { return no_comp_; }
  void count_plans(int more) { plans_.fetch_add(more, std::memory_order_acq_rel); }
  // Null if collective operations are made of messages only.
  rt::shared_memory* shared_memory() const { return shared_memory_.get(); }
  // Collective operations in shared memory that no thread waits for: for progress().
  bool has_pending_collectives() const {
    return pending_collectives_.load(std::memory_order_relaxed) != 0;
  }
  void count_pending_collectives(int more) {
    pending_collectives_.fetch_add(more, std::memory_order_acq_rel);
  }
  // Returns whether one has ended. Throws a failure that has been deferred.
  bool advance_collectives();
  // A later progress() throws it. It counts as a pending operation until then.
  void defer_failure(const peer_failure_error& failure);
  int number_of_groups() const;

  // An engine for the collective operations of a group, with a number of its own, which is given
  // again after the engine has ended. Throws std::runtime_error if there are too many.
  std::unique_ptr<matching_engine_impl_t> make_group_engine();
  // See matching_engine: in any engine of the program.
  std::optional<rt::matching_key> find_receive_of(const comp_impl_t& comp);
  // From now on the engine is that of the group's operations.
  void join_group_engine(matching_engine_impl_t* engine, const group_impl_t* group);
  void end_group_engine(std::unique_ptr<matching_engine_impl_t> engine);
  // Groups that the program has. The runtime owns them.
  group_impl_t* add_group(std::unique_ptr<group_impl_t> made);
  std::unique_ptr<group_impl_t> remove_group(group_impl_t* group);
  // One that this rank does not use any more, but other ranks may: it ends with the runtime.
  void abandon_group(std::unique_ptr<group_impl_t> left);
  // Null if there is none.
  rt::event_signal* signal_at(uint32_t number) const { return signals_.get(number); }
  // Devices besides the default one that blocks' puts and gets are spread over.
  const std::vector<std::unique_ptr<device_impl_t>>& rails() const { return rails_; }
  // Where peers can add to counters; null if they can't.
  rt::counter_memory* counters() const { return counters_.get(); }

  rt::roster<device_impl_t>& devices() { return devices_alive_; }
  rt::roster<packet_pool_impl_t>& packet_pools() { return packet_pools_alive_; }
  rt::roster<net_context_impl_t>& net_contexts() { return net_contexts_alive_; }
  // For a device that leaves devices().
  void add_to_freed(const device_impl_t& device);
  bool counts_traffic() const { return counts_traffic_; }
  // False if this rank does not record.
  const observe::event_sink& record() const { return record_; }
  // See get_counters_x.
  counters_t read_counters();
  // Every rank passes its counters to rank 0, which writes a table of them to the standard error
  // stream. Needs no progress and no device. Before the end of the runtime, once; does not throw on
  // account of other ranks. Nothing, if traffic is not counted.
  void report_counters();

  // Memory for a message from `sender`; null for size 0. Throws std::runtime_error if there is
  // none.
  void* allocate(size_t size, int sender) {
    if (size == 0) return nullptr;
    // No virtual call in nearly all programs.
    void* const memory =
        allocator_ == &g_allocator_default ? std::malloc(rt::rotating_size_class(size)) : nullptr;
    return __builtin_expect(memory != nullptr, 1) ? memory : allocate_otherwise(size, sender);
  }
  allocator_base_t& allocator() { return *allocator_; }
  void set_allocator(allocator_base_t* allocator) { allocator_ = allocator; }

 private:
  [[noreturn]] void report_no_rcomp(rcomp_t rcomp, int sender) const;
  [[noreturn]] void report_no_signal(uint32_t number, int sender) const;
  [[noreturn]] void report_no_engine(uint32_t id, int sender) const;
  void throw_deferred_failure();
  matching_engine_impl_t* find_group_engine(uint32_t id, int sender) const;
  void* allocate_otherwise(size_t size, int sender);
  // What messages for a registered object signal, where this rank records: for a handler, whose
  // function progress() would call without signal(), an object that signals it. Under rcomp_mutex_.
  comp_impl_t* recorded_rcomp(comp_impl_t* comp);
  std::unique_ptr<net_context_impl_t> make_net_context(const net_context_attr_t& attributes);
  std::unique_ptr<device_impl_t> make_device(net_context_impl_t& context,
                                             packet_pool_impl_t& packets, device_attr_t attributes);
  std::unique_ptr<matching_engine_impl_t> make_engine(const matching_engine_attr_t& attributes,
                                                      matching_make_key_t make_key);

  const std::unique_ptr<boot::bootstrap> boot_;
  runtime_attr_t attr_;
  rt::imm_layout imm_;
  allocator_base_t* allocator_ = &g_allocator_default;
  std::unique_ptr<std::atomic<bool>[]> failed_;  // by rank
  std::atomic<int> first_failed_{-1};

  rt::roster<device_impl_t> devices_alive_;
  rt::roster<packet_pool_impl_t> packet_pools_alive_;
  rt::roster<net_context_impl_t> net_contexts_alive_;
  const bool counts_traffic_;
  device_counters_t freed_devices_;  // guarded by devices_alive_

  // Messages for it need no buffer, and nobody reads the count.
  rt::counter no_comp_;
  std::mutex rcomp_mutex_;  // orders reservations; look-ups take no lock
  rcomp_t next_rcomp_ = 1;  // guarded by rcomp_mutex_
  ds::mpmc_array<comp_impl_t*> rcomps_;

  std::atomic<uint32_t> next_signal_{1};
  ds::mpmc_array<rt::event_signal*> signals_;

  std::mutex engines_mutex_;  // likewise
  uint32_t next_engine_ = 0;  // guarded by engines_mutex_
  ds::mpmc_array<matching_engine_impl_t*> engines_;
  // The engine with this number is that of the first group; the next ones count downward, so that
  // those of the program have the same numbers on ranks that are in different groups.
  static constexpr uint32_t first_group_engine = 0xffff;
  uint32_t group_engines_made_ = 0;                        // guarded by engines_mutex_
  std::vector<uint32_t> free_group_engines_;               // numbers; guarded by engines_mutex_
  ds::mpmc_array<matching_engine_impl_t*> group_engines_;  // by first_group_engine - number

  std::atomic<int> pending_collectives_{0};
  std::mutex deferred_mutex_;
  std::vector<peer_failure_error> deferred_failures_;  // guarded by deferred_mutex_
  mutable std::shared_mutex groups_mutex_;
  std::vector<std::unique_ptr<group_impl_t>> groups_;     // guarded by groups_mutex_
  std::vector<std::unique_ptr<group_impl_t>> abandoned_;  // likewise

  rt::effect_reports effect_reports_;
  const observe::event_sink record_;
  std::vector<std::unique_ptr<comp_impl_t>> recorded_rcomps_;  // guarded by rcomp_mutex_

  std::atomic<int> gathers_{0};
  std::atomic<int> net_contexts_made_{0};
  // Of the program.
  std::atomic<int> net_contexts_{0};
  std::atomic<int> devices_{0};
  std::atomic<int> regions_{0};
  std::atomic<int> packet_pools_{0};
  std::atomic<int> matching_engines_{0};
  std::atomic<int> signals_alive_{0};
  std::atomic<int> plans_{0};

  // What is declared last ends first.
  std::unique_ptr<packet_pool_impl_t> packet_pool_;
  std::unique_ptr<matching_engine_impl_t> collective_engine_;
  std::unique_ptr<matching_engine_impl_t> address_engine_;
  std::unique_ptr<matching_engine_impl_t> default_engine_;
  std::unique_ptr<net_context_impl_t> default_net_context_;
  std::unique_ptr<rt::counter_memory> counters_;  // of that context
  std::unique_ptr<device_impl_t> default_device_;
  std::vector<std::unique_ptr<device_impl_t>> rails_;
  std::unique_ptr<rt::shared_memory> shared_memory_;  // of the default net context
};

inline void* device_impl_t::allocate_for_am(const comp_impl_t& comp, size_t size, int sender) {
  return comp.attr.zero_copy_am ? packet_for_am(size, sender) : runtime.allocate(size, sender);
}

}  // namespace lci

#endif  // LCI_RUNTIME_RUNTIME_H_
