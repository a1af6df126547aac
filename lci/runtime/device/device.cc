#include "lci/runtime/device/device.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lci/base/strings.h"
#include "lci/observe/clock.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/traffic.h"

namespace lci {

device_impl_t::device_impl_t(net_context_impl_t& owner, packet_pool_impl_t& pool,
                             rt::engine_registry& engines, const device_attr_t& attributes,
                             std::unique_ptr<net::device> network, const rt::traffic* counted)
    : protocol_host(owner, pool, attributes, std::move(network)),
      runtime(owner.runtime),
      eager(*this),
      rendezvous(*this),
      rma(*this),
      atomics(*this),
      raw(*net),
      engines_(engines),
      counted_(counted),
      refusals_(static_cast<uint64_t>(attributes.uid)) {
  if (attr.alloc_default_endpoint) {
    endpoint_attr_t endpoint;
    endpoint.uid = next_endpoint_uid_++;
    default_endpoint_ = std::make_unique<endpoint_impl_t>(*this, endpoint);
  }
  packets().devices.fetch_add(1, std::memory_order_acq_rel);
  context.users.fetch_add(1, std::memory_order_acq_rel);
  if (rt::checker* const checks = state.checks(); checks != nullptr) {
    checks->add_device(this, &runtime, attr.uid, &polls_);
    watch();
  }
  state.devices().add(this);
}

device_impl_t::~device_impl_t() {
  progress_thread_.reset();
  if (state.checks() != nullptr) state.checks()->remove_device(this);
  state.devices().remove(this, [this] {
    device_counters_t last;
    read(&last);
    state.add_to_freed(last);
  });
  packets().devices.fetch_sub(1, std::memory_order_acq_rel);
  context.users.fetch_sub(1, std::memory_order_acq_rel);
}

bool device_impl_t::note_polls() {
  const uint32_t polls = polls_.sum();
  if (polls == polls_seen_) return false;
  polls_seen_ = polls;
  polled_at_ = observe::coarse_clock::seconds();
  return true;
}

// Peers may wait for messages that the network keeps until the device is polled, which the program
// has stopped doing. They arrive late, as the observer looks once per second, but do arrive.
void device_impl_t::tick() {
  if (note_polls() || is_polled_otherwise()) return;
  if (net->limits().polls_after_done) static_cast<void>(net->drained());
}

void device_impl_t::read(device_counters_t* out) const {
  out->uid = attr.uid;
  if (counted_ != nullptr) counted_->read(out);
  out->backlogged = backlog.pushed();
  out->yields = yields_.load(std::memory_order_relaxed);
}

void device_impl_t::describe(observe::rank_report* report) {
  using arrivals = observe::rank_report::device::arrivals;
  note_polls();
  observe::rank_report::device described;
  described.number = static_cast<uint64_t>(attr.uid);
  described.polls = polls_seen_;
  if (!is_polled_otherwise()) {
    described.seconds_unpolled = observe::coarse_clock::seconds() - polled_at_;
  }
  if (described.is_unpolled()) {
    const std::optional<bool> has_arrivals = net->has_arrivals();
    described.messages = !has_arrivals   ? arrivals::unknown
                         : *has_arrivals ? arrivals::some
                                         : arrivals::none;
  }
  described.backlog = backlog.size();
  described.transfers = rendezvous.open();
  described.sends = eager.open();
  described.puts_and_gets = rma.open();
  described.atomics = atomics.open();
  packet_pool_counters_t pool;
  packets().read(&pool);
  described.packets_out = pool.in_use;
  described.packets = pool.packets;
  add_entry(report, &report->devices, described);
  rendezvous.describe(report, described.number);
  backlog.describe(report, described.number);
  if (const auto refused = refusals_.describe()) {
    add_entry(report, &report->refused, *refused);
  }
  describe_objects(report);
}

// Other objects stand for the program's while operations are checked.
void device_impl_t::describe_objects(observe::rank_report* report) {
  if (!eager.idle() || !rma.idle() || !atomics.idle() || !backlog.empty() ||
      state.checks() != nullptr) {
    report->has_unknown_objects = true;
  }
}

std::optional<observe::rank_report::wait> device_impl_t::overdue(
    std::chrono::milliseconds patience) {
  note_polls();
  if (is_polled_otherwise()) return std::nullopt;
  return refusals_.overdue(patience, observe::coarse_clock::seconds() - polled_at_);
}

void device_impl_t::report_failure(const char* call, int rank, std::string_view otherwise) const {
  if (rank >= 0 && is_gone(rank)) {
    throw peer_failure_error(rank, base::StrCat("lci: ", call, ": rank ", rank, " is gone"));
  }
  rt::throw_runtime_error(call, otherwise);
}

bool device_impl_t::idle() {
  return backlog.empty() && rendezvous.idle() && eager.idle() && rma.idle() && atomics.idle() &&
         raw.idle();
}

void device_impl_t::check_unused(const char* call) {
  if (extra_endpoints() != 0) {
    rt::throw_logic_error(call, ": ", extra_endpoints(), " endpoints of device ", attr.uid,
                          " have not been freed");
  }
  if (idle()) return;
  rt::throw_logic_error(call, ": operations are under way on device ", attr.uid,
                        "; call wait_drained first");
}

bool device_impl_t::drained() {
  for (size_t i = 0; rails_ != nullptr && i < rails_->size(); ++i) {
    if (!(*rails_)[i]->drained()) return false;
  }
  return idle() && net->drained();
}

void device_impl_t::start_progress_thread() {
  if (!attr.progress_thread) return;
  progress_thread_ = std::make_unique<rt::progress_thread>(*this);
  backlog.set_sleeper(&progress_thread_->sleeper());
  for (size_t i = 0; rails_ != nullptr && i < rails_->size(); ++i) {
    (*rails_)[i]->backlog.set_sleeper(&progress_thread_->sleeper());
  }
  progress_thread_->start();
}

std::vector<int> device_impl_t::wait_descriptors() const {
  std::vector<int> all = net->wait_descriptors();
  for (size_t i = 0; rails_ != nullptr && i < rails_->size(); ++i) {
    for (const int each : (*rails_)[i]->net->wait_descriptors()) all.push_back(each);
  }
  return all;
}

std::chrono::microseconds device_impl_t::arm() {
  std::chrono::microseconds least = arm_alone();
  for (size_t i = 0; rails_ != nullptr && i < rails_->size(); ++i) {
    least = std::min(least, (*rails_)[i]->arm_alone());
  }
  // No event announces work of the shared device, unless it has a thread of its own.
  if (shared_ != nullptr && shared_->own_thread() == nullptr) {
    least = std::min(least, net::device::short_sleep);
  }
  return least;
}

// The network refused the backlogged operations at the last poll: sleep briefly, and retry.
std::chrono::microseconds device_impl_t::arm_alone() {
  const std::chrono::microseconds longest = net->arm();
  return backlog.empty() ? longest : std::min(longest, net::device::short_sleep);
}

endpoint_impl_t* device_impl_t::alloc_endpoint(endpoint_attr_t attributes) {
  attributes.uid = next_endpoint_uid_.fetch_add(1, std::memory_order_relaxed);
  auto made = std::make_unique<endpoint_impl_t>(*this, attributes);
  extra_endpoints_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void device_impl_t::free_endpoint(endpoint_impl_t* endpoint) {
  if (endpoint == default_endpoint_.get()) {
    rt::throw_logic_error("free_endpoint: the default endpoint is freed with its device");
  }
  delete endpoint;
  extra_endpoints_.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace lci
