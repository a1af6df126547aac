#ifndef LCI_RUNTIME_DEVICE_DEVICE_H_
#define LCI_RUNTIME_DEVICE_DEVICE_H_

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/counters.hpp"
#include "lci/api/types.hpp"
#include "lci/base/guard_detector.h"
#include "lci/base/poll_backoff.h"
#include "lci/base/thread_counts.h"
#include "lci/net/backend.h"
#include "lci/observe/clock.h"
#include "lci/observe/subject.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/device/progress_thread.h"
#include "lci/runtime/device/refusals.h"
#include "lci/runtime/matching/registry.h"
#include "lci/runtime/protocol/atomics.h"
#include "lci/runtime/protocol/eager.h"
#include "lci/runtime/protocol/host.h"
#include "lci/runtime/protocol/raw.h"
#include "lci/runtime/protocol/rendezvous.h"
#include "lci/runtime/protocol/rma.h"

namespace lci {

class device_impl_t;
class runtime_impl_t;
namespace rt {
// Not included: a compiler that sees the class of a counting network expects it at every call.
class traffic;
}  // namespace rt

// The object behind an endpoint_t. No network so far has resources for endpoints in addition to
// those of their device: all posts use these.
class endpoint_impl_t : public rt::live_object {
 public:
  endpoint_impl_t(device_impl_t& owner, const endpoint_attr_t& attributes)
      : device(owner), attr(attributes) {}

  device_impl_t& device;
  const endpoint_attr_t attr;
};

// The object behind a device_t: a device of the network, and what the runtime keeps for it. All
// conversations that begin on a device stay on it, so threads on different devices share nothing
// here.
//
// Thread safety: every member by any thread at any time; none blocks.
class device_impl_t : public rt::live_object, public rt::protocol_host {
 public:
  // `counted`: what the network counts; null: it does not.
  device_impl_t(net_context_impl_t& context, packet_pool_impl_t& packets,
                rt::engine_registry& engines, const device_attr_t& attributes,
                std::unique_ptr<net::device> network, const rt::traffic* counted);
  ~device_impl_t();
  device_impl_t(const device_impl_t&) = delete;
  device_impl_t& operator=(const device_impl_t&) = delete;

  // As progress_x, but never yields the processor: callers outside use rt::poll().
  progress_result_t progress();
  // Whether threads poll it in ways that progress() does not count.
  bool is_polled_otherwise() { return is_rail_ || raw.is_polled(); }

  // Gives the processor to other threads, as this thread's polls of this device and others say it
  // is time to. Not if the program guards the device with a lock, which it would hold meanwhile.
  void yield(base::poll_backoff& polls, std::chrono::steady_clock::time_point now);

  // No operation of this rank and no conversation with a peer is under way.
  bool idle();
  // Throws std::logic_error, naming `call`, if it is not idle or has endpoints.
  void check_unused(const char* call);
  // Nor has the network anything more to do for those that were.
  bool drained();

  // Devices that this one's progress and draining are of, too. Before any progress.
  void set_rails(const std::vector<std::unique_ptr<device_impl_t>>* rails) {
    if (rails->empty()) return;
    for (const auto& each : *rails) each->is_rail_ = true;
    rails_ = rails;
    others_mask_ = 0;
  }

  // Lets progress on this device also poll `shared`, as often as the attribute am_poll_mask says.
  // Call it before any progress.
  void serve(device_impl_t* shared) {
    if (attr.am_poll_mask < 0 || shared == nullptr) return;
    shared_ = shared;
    others_mask_ = static_cast<uint32_t>(attr.am_poll_mask);
  }

  // As the attribute progress_thread says; once it has its rails.
  void start_progress_thread();
  // Null: none.
  const rt::progress_thread* own_thread() const { return progress_thread_.get(); }

  // As those of net::device, for all whose progress this one's makes.
  std::vector<int> wait_descriptors() const;
  // Throws for an operation with that rank that has failed: peer_failure_error if the rank is gone,
  // else std::runtime_error, "lci: CALL" and `otherwise`.
  [[noreturn, gnu::cold]] void report_failure(const char* call, int rank,
                                              std::string_view otherwise) const;
  std::chrono::microseconds arm();

  // Endpoints of the program, besides the default one.
  endpoint_impl_t* alloc_endpoint(endpoint_attr_t attributes);
  void free_endpoint(endpoint_impl_t* endpoint);
  endpoint_impl_t* default_endpoint() { return default_endpoint_.get(); }
  // For the observer's thread, as of observe::subject.
  void describe(observe::rank_report* report);
  // Sets the members of *out.
  void read(device_counters_t* out) const;
  void tick();
  std::optional<observe::rank_report::wait> overdue(std::chrono::milliseconds patience);
  // A thread has had many posts refused; this is the last one.
  void note_refusal(int rank, size_t size, error_t answer) { refusals_.add(rank, size, answer); }

  int extra_endpoints() const { return extra_endpoints_.load(std::memory_order_acquire); }

  runtime_impl_t& runtime;
  rt::eager eager;
  rt::rendezvous rendezvous;
  rt::rma rma;
  rt::atomics atomics;
  rt::raw_network raw;

 private:
  // Whether there were polls since the last call; if so, keeps the time.
  bool note_polls();
  error_t progress_with_others();
  error_t progress_alone();
  bool drain_backlog();
  bool advance_collectives();
  std::chrono::microseconds arm_alone();
  void on_am(int rank, tag_t tag, rcomp_t rcomp, const void* bytes, size_t size);
  void on_remote_completion(int rank, tag_t tag, rcomp_t rcomp);
  const net::completion* on_each(const net::completion* next, const net::completion* end,
                                 std::exception_ptr* failure);
  void on_runs(const net::completion* next, const net::completion* end,
               std::exception_ptr* failure);
  void on_tagged(const net::completion& message);
  void on_announced(int rank, const rt::rts_header& header, uint64_t address = 0);
  void handle(const net::completion& completion);
  void handle_failure(int rank);
  void fail_conversations(int rank);
  void handle_message(const net::completion& received);

  bool is_attended(const device_impl_t& shared);
  void describe_objects(observe::rank_report* report);
  // When a thread's number of polls has none of these bits, progress is also made on rails, the shared
  // device, and collective operations.
  uint32_t others_mask_ = 63;
  const std::vector<std::unique_ptr<device_impl_t>>* rails_ = nullptr;
  device_impl_t* shared_ = nullptr;
  rt::engine_registry& engines_;
  const rt::traffic* const counted_;  // null: nothing counts
  // A rank whose failure is thrown before the device notices it; -1: none.
  std::atomic<int> reported_early_{-1};
  std::atomic<int> next_endpoint_uid_{0};
  std::atomic<int> extra_endpoints_{0};
  std::unique_ptr<endpoint_impl_t> default_endpoint_;

  // Written by polling threads, apart from what all polls read.
  alignas(64) base::guard_detector guard_;
  std::atomic<uint64_t> yields_{0};
  base::thread_counts polls_;
  alignas(64) std::atomic<uint32_t> shared_polls_{0};  // of shared_, when we last looked
  std::atomic<uint32_t> looks_skipped_{0};             // since then
  std::atomic<uint32_t> looks_to_skip_{0};
  // Of another device, whose polls are also this one's.
  std::atomic<bool> is_rail_{false};
  // Of the observer's thread.
  uint32_t polls_seen_ = 0;
  uint32_t polled_at_ = observe::coarse_clock::seconds();
  rt::refusals refusals_;
  alignas(64) std::unique_ptr<rt::progress_thread> progress_thread_;  // it uses all
  const observe::listed<device_impl_t> listed_{this};
};

namespace rt {

// True while this thread is inside progress(): a handler is running, and waiting would be for ever.
bool inside_progress();
// While it lives, this thread counts as inside a call of progress(): for code that may call
// handlers.
class progress_scope {
 public:
  progress_scope();
  ~progress_scope();
  progress_scope(const progress_scope&) = delete;
  progress_scope& operator=(const progress_scope&) = delete;
};

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_DEVICE_DEVICE_H_
