#include "lci/runtime/device.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lci/base/strings.h"
#include "lci/observe/clock.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/traffic.h"

namespace lci {
namespace {

// The bits that a put_imm carries.
int bits_of(const net::device_limits& limits) {
  return limits.has_put_imm ? limits.put_imm_bits : 0;
}

// What the attributes say once the network is known (UNR paper, Table I).
device_attr_t with_signal_limits(device_attr_t attr, const net::device_limits& limits,
                                 int part_bits) {
  const int bits = bits_of(limits);
  if (attr.signal_level < 0) {
    attr.signal_level = limits.has_add ? 4 : bits == 64 ? 3 : bits == 32 ? 2 : bits > 0 ? 1 : 0;
  }
  attr.signal_needs_progress = attr.signal_level < 4 || !limits.has_add;
  const rt::signal_layout layout(bits, attr.signal_level, part_bits);
  // By message, or added to by the sender: as many as there are numbers.
  const bool unlimited = attr.signal_level == 0 || !attr.signal_needs_progress;
  constexpr uint64_t most = ~uint32_t{0};
  attr.max_signals = unlimited ? most : layout.max_signal();
  attr.max_signal_parts = unlimited || attr.signal_level >= 3 ? most
                          : attr.signal_level == 1            ? 1
                                                   : std::max<uint64_t>(layout.max_part(), 1);
  return attr;
}

}  // namespace

device_impl_t::device_impl_t(net_context_impl_t& owner, packet_pool_impl_t& packets,
                             const device_attr_t& attributes, std::unique_ptr<net::device> network,
                             const rt::traffic* counted)
    : runtime(owner.runtime),
      context(owner),
      attr(with_signal_limits(attributes, network->limits(),
                              owner.runtime.attr().imm_nbits_signal_part)),
      net(std::move(network)),
      eager(*this),
      rendezvous(*this),
      rma(*this),
      raw(*net),
      packets_(packets),
      limits_{net->limits().max_inject, net->limits().max_send, packets.attr.packet_size},
      max_rma_(std::min(net->limits().max_rma, owner.attr.max_msg_size)),
      plain_rma_(
          net->limits().needs_registration ? 0 : std::min(net->limits().rma_short, max_rma_ + 1)),
      has_put_imm32_(bits_of(net->limits()) >= 32),
      has_remote_add_(!attr.signal_needs_progress),
      signals_(bits_of(net->limits()), attr.signal_level,
               owner.runtime.attr().imm_nbits_signal_part),
      counted_(counted) {
  if (net->limits().needs_registration) packets_regions_ = &packets_.regions(context);
  if (attr.alloc_default_endpoint) {
    endpoint_attr_t endpoint;
    endpoint.uid = next_endpoint_uid_++;
    default_endpoint_ = std::make_unique<endpoint_impl_t>(*this, endpoint);
  }
  packets_.devices.fetch_add(1, std::memory_order_acq_rel);
  context.users.fetch_add(1, std::memory_order_acq_rel);
  runtime.devices().add(this);
}

device_impl_t::~device_impl_t() {
  progress_thread_.reset();
  runtime.devices().remove(this, [this] { runtime.add_to_freed(*this); });
  packets_.devices.fetch_sub(1, std::memory_order_acq_rel);
  context.users.fetch_sub(1, std::memory_order_acq_rel);
}

void device_impl_t::tick() {
  const uint32_t polls = polls_.load(std::memory_order_relaxed);
  if (polls == polls_seen_) return;
  polls_seen_ = polls;
  polled_at_ = observe::coarse_clock::seconds();
}

void device_impl_t::read(device_counters_t* out) const {
  out->uid = attr.uid;
  if (counted_ != nullptr) counted_->read(out);
  out->backlogged = backlog.pushed();
  out->yields = yields_.load(std::memory_order_relaxed);
}

void device_impl_t::describe(observe::rank_report* report) {
  tick();
  observe::rank_report::device described;
  described.number = static_cast<uint64_t>(attr.uid);
  described.polls = polls_seen_;
  described.seconds_unpolled = observe::coarse_clock::seconds() - polled_at_;
  described.backlog = backlog.size();
  described.transfers = rendezvous.open();
  add_entry(report, &report->devices, described);
  rendezvous.describe(report, described.number);
}

error_t device_impl_t::try_submit(net::op operation, rt::continuation* then) {
  operation.context = then;
  const error_t result = net->post(operation);
  if (then != nullptr && (result.is_done() || result.errorcode == errorcode_t::fatal)) {
    then->completed(*this, result.errorcode);
  }
  return result;
}

void device_impl_t::submit(const net::op& operation, rt::continuation* then) {
  if (try_submit(operation, then).is_retry()) backlog.push(operation, then);
}

bool device_impl_t::idle() {
  return backlog.empty() && rendezvous.idle() && eager.idle() && rma.idle() && raw.idle();
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
  // Nothing tells us of the shared one, unless it has a thread and needs us less.
  if (shared_ != nullptr && shared_->own_thread() == nullptr) {
    least = std::min(least, net::device::short_sleep);
  }
  return least;
}

// What is in the backlog when the last poll was, the network did not take.
std::chrono::microseconds device_impl_t::arm_alone() {
  const std::chrono::microseconds longest = net->arm();
  return backlog.empty() ? longest : std::min(longest, net::device::short_sleep);
}

net::local_region device_impl_t::region_of(const rt::packet& packet) {
  if (packets_regions_ == nullptr) return {};
  return (packet.pool() == &packets_ ? *packets_regions_ : packet.pool()->regions(context))
      .of(packet);
}

base::StatusOr<rt::registrations::use> device_impl_t::register_for_use(void* buffer, size_t size) {
  if (net->limits().needs_registration) return context.registrations.acquire(buffer, size);
  const base::StatusOr<net::local_region> made = network().register_memory(buffer, size);
  if (!made.ok()) return made.status();
  rt::registrations::use given;
  given.local = *made;
  return given;
}

void device_impl_t::end_use(const rt::registrations::use& over) {
  if (over.found == nullptr) {
    network().deregister_memory(over.local);
  } else {
    context.registrations.release(over, attr.use_reg_cache);
  }
}

void* device_impl_t::packet_for_am(size_t size, int sender) {
  try {
    return packets_.get_for(size)->payload();
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(base::StrCat("lci: rank ", runtime.rank(), " has no memory for ", size,
                                          " bytes from rank ", sender));
  }
}

void device_impl_t::free_of_am(bool in_packet, void* buffer) {
  if (in_packet) {
    rt::packet::of(buffer)->put();
  } else if (buffer != nullptr) {
    runtime.allocator().deallocate(buffer);
  }
}

endpoint_impl_t* device_impl_t::alloc_endpoint(endpoint_attr_t attributes) {
  attributes.uid = next_endpoint_uid_.fetch_add(1, std::memory_order_relaxed);
  auto made = std::make_unique<endpoint_impl_t>(*this, attributes);
  extra_endpoints_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void device_impl_t::free_endpoint(endpoint_impl_t* endpoint) {
  if (endpoint == default_endpoint_.get()) {
    throw std::logic_error("lci: free_endpoint: the default endpoint is freed with its device");
  }
  delete endpoint;
  extra_endpoints_.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace lci
