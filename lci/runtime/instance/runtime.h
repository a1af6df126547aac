#ifndef LCI_RUNTIME_INSTANCE_RUNTIME_H_
#define LCI_RUNTIME_INSTANCE_RUNTIME_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/comp.hpp"
#include "lci/api/counters.hpp"
#include "lci/api/runtime.hpp"
#include "lci/boot/bootstrap.h"
#include "lci/observe/rank_report.h"
#include "lci/observe/recorder.h"
#include "lci/observe/subject.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/core/attributes.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/hierarchy.h"
#include "lci/runtime/instance/shared_memory.h"
#include "lci/runtime/matching/engine.h"
#include "lci/runtime/matching/registry.h"
#include "lci/runtime/resources/net_context.h"
#include "lci/runtime/resources/packet.h"

namespace lci {

class group_impl_t;

// The object behind a runtime_t: everything that one use of the library has, made from a bootstrap
// and attributes. Knows nothing of other runtimes of the process.
//
// Resources that the program allocates know their runtime and are counted by it; free_ throws
// std::logic_error, saying by what, if one is in use or a default one.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class runtime_impl_t : public rt::live_object, public rt::rank_state {
 public:
  // Collective. `boot` is the runtime's own: names used in it are not used by anybody else.
  // `defaults`: attributes of the default resources. `record`: where this rank records its events.
  // `checks`: what checks its operations, or null. Both outlive the runtime. Throws.
  runtime_impl_t(std::unique_ptr<boot::bootstrap> boot, const runtime_attr_t& attributes,
                 const global_attr_t& defaults, observe::event_sink record = {},
                 rt::checker* checks = nullptr);
  // Local; see free_runtime for the collective end.
  ~runtime_impl_t();
  runtime_impl_t(const runtime_impl_t&) = delete;
  runtime_impl_t& operator=(const runtime_impl_t&) = delete;

  // The objects that the program has allocated and not freed, as "2 devices, 1 packet pool"; empty:
  // nothing.
  std::string left_over() const;

  // Default resources; null if there is none.
  net_context_impl_t* default_net_context() const { return default_net_context_.get(); }
  device_impl_t* default_device() const { return default_device_.get(); }
  packet_pool_impl_t* default_packet_pool() const {
    return attr().alloc_default_packet_pool ? packet_pool_.get() : nullptr;
  }
  // Of devices that are made without one. It takes memory only when such a device needs packets.
  packet_pool_impl_t& packet_pool() { return *packet_pool_; }
  matching_engine_impl_t* default_matching_engine() const { return default_engine_.get(); }
  matching_engine_impl_t* collective_engine() const { return collective_engine_.get(); }
  // The engine for the messages in which receivers of plans send their addresses to the senders.
  matching_engine_impl_t* address_engine() const { return address_engine_.get(); }

  // Collective: returns when all ranks have called it, and makes progress until then, unless this
  // thread is inside a handler. Before they wait for each other in the bootstrap, without progress:
  // over some networks what a rank has sent before leaves only while it polls, and another may need
  // it to come there.
  void wait_for_all_ranks();
  // Collective.
  net_context_impl_t* alloc_net_context(const net_context_attr_t& attributes);
  void free_net_context(net_context_impl_t* context);
  device_impl_t* alloc_device(net_context_impl_t& context, packet_pool_impl_t& packets,
                              const device_attr_t& attributes);
  // `call`: what the program has called; a literal.
  void free_device(device_impl_t* device, const char* call);
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
  rt::engine_registry& engines() { return engines_; }

  // As that of rank_state; `comp` signals its object, where this rank records, so that the signal
  // is recorded.
  void set_rcomp(rcomp_t rcomp, comp_impl_t* comp);
  // The object that stands for an empty completion object in the registry.
  comp_impl_t& no_comp() { return no_comp_; }
  void count_plans(int more) { plans_.fetch_add(more, std::memory_order_acq_rel); }
  void count_persistent_colls(int more) {
    persistent_colls_.fetch_add(more, std::memory_order_acq_rel);
  }
  // Null if collective operations are made of messages only.
  rt::shared_memory* shared_memory() const { return shared_memory_.get(); }
  // Null if the ranks are all on one host or each on a host of its own, or share no memory.
  const rt::hierarchy* hierarchy() const { return hierarchy_.get(); }
  // Returns whether a collective operation has ended. Throws a failure that has been deferred.
  bool advance_collectives();
  // A device has noticed that a rank is gone: ends what waits for a message of that rank, and all
  // collectives. Returns the rank to report to the program: of several failed ranks, the first one
  // that the job has lost. That rank is also marked as failed before any device has noticed it.
  int note_failure(int rank);
  // A later progress() throws it. It counts as a pending operation until then.
  void defer_failure(const peer_failure_error& failure);

  // Groups that the program has. The runtime owns them.
  group_impl_t* add_group(std::unique_ptr<group_impl_t> made);
  std::unique_ptr<group_impl_t> remove_group(group_impl_t* group);
  // One that this rank does not use any more, but other ranks may: it ends with the runtime.
  void abandon_group(std::unique_ptr<group_impl_t> left);
  // Devices besides the default one that blocks' puts and gets are spread over.
  const std::vector<std::unique_ptr<device_impl_t>>& rails() const { return rails_; }
  // Where peers can add to counters; null if they can't.
  rt::counter_memory* counters() const { return counters_.get(); }

  // See get_counters_x.
  counters_t read_counters();
  // Every rank passes its counters to rank 0, which writes a table of them to the standard error
  // stream. Needs no progress and no device. Before the end of the runtime, once; does not throw on
  // account of other ranks. Nothing, if traffic is not counted.
  void report_counters();
  // For the observer's thread, as of observe::subject.
  void describe(observe::rank_report* report);

 private:
  void throw_deferred_failure();
  mr_impl_t* add_region(std::unique_ptr<mr_impl_t> mr);
  std::unique_ptr<net_context_impl_t> make_net_context(const net_context_attr_t& attributes);
  std::unique_ptr<device_impl_t> make_device(net_context_impl_t& context,
                                             packet_pool_impl_t& packets, device_attr_t attributes);
  std::unique_ptr<matching_engine_impl_t> make_engine(const matching_engine_attr_t& attributes,
                                                      matching_make_key_t make_key);

  // Not a base: a handle's object begins with that it is live.
  class events final : public rt::runtime_events {
   public:
    explicit events(runtime_impl_t& runtime) : runtime_(runtime) {}
    bool advance_collectives() override { return runtime_.advance_collectives(); }
    int note_failure(int rank) override { return runtime_.note_failure(rank); }
    void defer_failure(const peer_failure_error& failure) override {
      runtime_.defer_failure(failure);
    }

   private:
    runtime_impl_t& runtime_;
  };

  const std::unique_ptr<boot::bootstrap> boot_;
  events events_{*this};
  rt::engine_registry engines_{*this};

  // Messages for it need no buffer, and nobody reads the count.
  rt::counter no_comp_;
  std::mutex deferred_mutex_;
  std::vector<peer_failure_error> deferred_failures_;  // guarded by deferred_mutex_
  mutable std::shared_mutex groups_mutex_;
  std::vector<std::unique_ptr<group_impl_t>> groups_;     // guarded by groups_mutex_
  std::vector<std::unique_ptr<group_impl_t>> abandoned_;  // guarded by groups_mutex_

  rt::effect_reports effect_reports_;
  std::mutex recorded_mutex_;
  std::vector<std::unique_ptr<comp_impl_t>> recorded_rcomps_;  // guarded by recorded_mutex_

  std::atomic<int> waits_for_all_ranks_{0};
  std::atomic<int> net_contexts_made_{0};
  // Of the program.
  std::atomic<int> net_contexts_{0};
  std::atomic<int> devices_{0};
  std::atomic<int> regions_{0};
  std::atomic<int> packet_pools_{0};
  std::atomic<int> matching_engines_{0};
  std::atomic<int> plans_{0};
  std::atomic<int> persistent_colls_{0};

  // The last member ends first.
  std::unique_ptr<packet_pool_impl_t> packet_pool_;
  std::unique_ptr<matching_engine_impl_t> collective_engine_;
  std::unique_ptr<matching_engine_impl_t> address_engine_;
  std::unique_ptr<matching_engine_impl_t> default_engine_;
  std::unique_ptr<net_context_impl_t> default_net_context_;
  std::unique_ptr<rt::counter_memory> counters_;  // of that context
  std::unique_ptr<device_impl_t> default_device_;
  std::vector<std::unique_ptr<device_impl_t>> rails_;
  std::unique_ptr<rt::shared_memory> shared_memory_;  // of the default net context
  std::unique_ptr<rt::hierarchy> hierarchy_;          // of the default net context
  const observe::listed<runtime_impl_t> listed_{this};
};

}  // namespace lci

#endif  // LCI_RUNTIME_INSTANCE_RUNTIME_H_
