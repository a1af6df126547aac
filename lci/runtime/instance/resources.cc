// The resources that a runtime allocates and frees.
#include <optional>
#include <utility>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/boot/scoped.h"
#include "lci/net/capacity.h"
#include "lci/net/exchange.h"
#include "lci/observe/waiting.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/recording_network.h"
#include "lci/runtime/device/traffic.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

namespace {

// Throws std::logic_error naming the call, in which this rank would wait for others, if this thread
// is inside a handler.
void check_may_meet(const runtime_impl_t& runtime, const char* call) {
  if (runtime.size() > 1) rt::check_may_wait({call});
}

}  // namespace

// Net contexts and devices.

std::unique_ptr<net_context_impl_t> runtime_impl_t::make_net_context(
    const net_context_attr_t& attributes) {
  effect_reports_.check(attributes);
  const int number = net_contexts_made_.fetch_add(1, std::memory_order_relaxed);
  auto scope = std::make_unique<boot::scoped_bootstrap>(*boot_, base::StrCat("n", number));
  return std::make_unique<net_context_impl_t>(*this, attributes, std::move(scope), number);
}

void runtime_impl_t::wait_for_all_ranks() {
  if (default_device_ == nullptr || !default_device_->net->limits().polls_after_done) return;
  const observe::waiting waiting({"a call that all ranks make together"});
  const base::Status met =
      net::agree_while(*boot_, base::StrCat("all-ranks-", waits_for_all_ranks_.fetch_add(1)),
                       base::OkStatus(), [this] {
                         if (!rt::inside_progress()) {
                           default_device_->progress();
                         }
                         return base::OkStatus();
                       });
  if (!met.ok()) rt::throw_start_failure(*boot_, "the ranks could not meet to make something", met);
}

net_context_impl_t* runtime_impl_t::alloc_net_context(const net_context_attr_t& attributes) {
  check_may_meet(*this, "alloc_net_context");
  wait_for_all_ranks();
  std::unique_ptr<net_context_impl_t> made = make_net_context(attributes);
  net_contexts_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void runtime_impl_t::free_net_context(net_context_impl_t* context) {
  if (context == default_net_context_.get()) {
    rt::throw_logic_error("free_net_context: the default one is freed with its runtime");
  }
  const int users = context->users.load(std::memory_order_acquire);
  if (users != 0) {
    rt::throw_logic_error("free_net_context: ", users,
                          " devices or memory regions of it have not been freed");
  }
  packet_pools().with_all([&](const std::vector<packet_pool_impl_t*>& all) {
    for (packet_pool_impl_t* pool : all) pool->forget(*context);
  });
  delete context;
  net_contexts_.fetch_sub(1, std::memory_order_acq_rel);
}

namespace {

// Whether a backend has made a device that the runtime can use.
base::Status check_device(const net::device* made, const net::context& network, int ranks) {
  const std::string backend = base::StrCat("backend ", network.name());
  if (made == nullptr) {
    return base::InternalError(base::StrCat(backend, " made no device, and gave no error"));
  }
  base::Status status = net::check_limits(made->limits());
  for (int r = 0; r < ranks && status.ok(); ++r) status = net::check_limits(made->limits(r));
  return base::WithPrefix(base::StrCat(backend, ": the device has wrong limits: "), status);
}

}  // namespace

std::unique_ptr<device_impl_t> runtime_impl_t::make_device(net_context_impl_t& context,
                                                           packet_pool_impl_t& packets,
                                                           device_attr_t attributes) {
  // Before a number is taken, which is the same on all ranks.
  const auto queues = rt::checked_setting(
      net::sum_queues(attributes.net_max_sends, attributes.net_max_recvs, attributes.net_max_cqes,
                      attributes.net_send_reserved_pct));
  if (attributes.signal_level < -1 || attributes.signal_level > 4) {
    rt::throw_invalid_argument("attribute signal_level is ", attributes.signal_level,
                               ", not 0 to 4, or -1");
  }
  // All bits below the highest one.
  if (attributes.am_poll_mask < -1 || (static_cast<uint32_t>(attributes.am_poll_mask) &
                                       (static_cast<uint32_t>(attributes.am_poll_mask) + 1)) != 0) {
    rt::throw_invalid_argument("attribute am_poll_mask is ", attributes.am_poll_mask,
                               ", not 2^n - 1 (0, 1, 3, 7, ...), or -1");
  }
  effect_reports_.check(attributes);
  attributes.uid = context.next_uid.fetch_add(1, std::memory_order_relaxed);
  net::device_config config;
  config.uid = attributes.uid;
  config.queues = queues;
  config.max_message = packets.attr.packet_size + net::max_header_size;
  config.attr = attributes;
  auto network = context.net->make_device(config);
  base::Status status = network.status();
  if (status.ok()) status = check_device(network->get(), *context.net, size());
  if (!status.ok()) {
    const std::string failure =
        base::StrCat("rank ", rank(), " can't make device ", attributes.uid);
    if (base::IsInvalidArgument(status)) {
      rt::throw_invalid_argument(failure, ": ", status.message());
    }
    rt::throw_start_failure(*boot_, failure, status);
  }
  std::unique_ptr<net::device> through = *std::move(network);
  const rt::traffic* counted = nullptr;
  if (counts_traffic()) {
    auto counting = std::make_unique<rt::counting_network>(std::move(through), size());
    counted = &counting->counted();
    through = std::move(counting);
  }
  if (record()) {
    rt::recording_network::place where;
    where.to = record();
    where.context = static_cast<uint8_t>(context.number);
    where.device = static_cast<uint16_t>(attributes.uid);
    where.ranks = size();
    where.imm = imm();
    through = std::make_unique<rt::recording_network>(std::move(through), where);
  }
  auto made = std::make_unique<device_impl_t>(context, packets, engines_, attributes,
                                              std::move(through), counted);
  // Equal for all devices of a context; the first is made before any other thread has the context.
  if (attributes.uid == 0) context.attr.support_putimm = made->has_put_imm32();
  return made;
}

device_impl_t* runtime_impl_t::alloc_device(net_context_impl_t& context,
                                            packet_pool_impl_t& packets,
                                            const device_attr_t& attributes) {
  check_may_meet(*this, "alloc_device");
  const observe::waiting waiting({"alloc_device"});
  wait_for_all_ranks();
  std::unique_ptr<device_impl_t> device = make_device(context, packets, attributes);
  device->serve(default_device_.get());
  device->start_progress_thread();
  devices_.fetch_add(1, std::memory_order_acq_rel);
  return device.release();
}

void runtime_impl_t::free_device(device_impl_t* device, const char* call) {
  if (device == default_device_.get()) {
    rt::throw_logic_error(call, ": the default device is freed with its runtime");
  }
  // A handler may run inside a poll of this very device.
  rt::check_may_wait({call});
  std::optional<rt::checker::closing> closing;
  if (checks() != nullptr) {
    closing.emplace(*checks(), nullptr, device, call);
    checks()->report_end_of_device(device);
  }
  device->check_unused(call);
  // Messages that only their receivers still have to take, such as a barrier's last one, are not an
  // error of the program: wait for them.
  rt::wait_until(device, {call}, [device] { return device->drained(); });
  delete device;
  devices_.fetch_sub(1, std::memory_order_acq_rel);
}

mr_impl_t* runtime_impl_t::register_memory(net_context_impl_t& context, void* address, size_t size,
                                           const mr_attr_t& attributes) {
  auto registered = context.net->register_memory(address, size);
  if (!registered.ok()) {
    rt::throw_runtime_error("register_memory: ", size, " bytes on rank ", rank(), ": ",
                            registered.status().ToString());
  }
  return add_region(
      std::make_unique<mr_impl_t>(context, attributes, address, size, *registered, false));
}

mr_impl_t* runtime_impl_t::alloc_memory(net_context_impl_t& context, size_t size,
                                        const mr_attr_t& attributes) {
  const auto made = context.net->allocate_memory(size);
  if (!made.ok()) {
    rt::throw_runtime_error("alloc_mr: ", size, " bytes on rank ", rank(), ": ",
                            made.status().ToString());
  }
  std::unique_ptr<mr_impl_t> mr;
  try {
    mr = std::make_unique<mr_impl_t>(context, attributes, made->address, size, made->region, true);
  } catch (...) {
    context.net->free_memory(*made);
    throw;
  }
  return add_region(std::move(mr));
}

mr_impl_t* runtime_impl_t::add_region(std::unique_ptr<mr_impl_t> mr) {
  net_context_impl_t& context = mr->context;
  context.registrations.add(mr->region, mr->address, mr->size);
  context.open_memory.add(context.net->remote_key(mr->region).key, mr->address, mr->size);
  context.users.fetch_add(1, std::memory_order_acq_rel);
  regions_.fetch_add(1, std::memory_order_acq_rel);
  return mr.release();
}

void runtime_impl_t::deregister_memory(mr_impl_t* region) {
  net::context& net = *region->context.net;
  const net::context::allocation closed{region->address, region->size, region->region};
  const bool allocated = region->allocated;
  region->context.open_memory.remove(net.remote_key(region->region).key, region->address,
                                     region->size);
  region->context.registrations.remove(region->region, region->address, [&net, closed, allocated] {
    if (allocated) {
      net.free_memory(closed);
    } else {
      net.deregister_memory(closed.region);
    }
  });
  region->context.users.fetch_sub(1, std::memory_order_acq_rel);
  delete region;
  regions_.fetch_sub(1, std::memory_order_acq_rel);
}

// Packet pools.

packet_pool_impl_t* runtime_impl_t::alloc_packet_pool(const packet_pool_attr_t& attributes) {
  auto made = std::make_unique<packet_pool_impl_t>(*this, attributes);
  packet_pools_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void runtime_impl_t::free_packet_pool(packet_pool_impl_t* pool) {
  if (pool == packet_pool_.get()) {
    rt::throw_logic_error("free_packet_pool: the default one is freed with its runtime");
  }
  const int devices = pool->devices.load(std::memory_order_acquire);
  if (devices != 0) rt::throw_logic_error("free_packet_pool: ", devices, " devices still use it");
  if (const size_t out = pool->in_use(); out != 0) {
    rt::throw_logic_error("free_packet_pool: ", out,
                          " packets of it have not been given back (put_upacket)");
  }
  delete pool;
  packet_pools_.fetch_sub(1, std::memory_order_acq_rel);
}

// Matching engines.

std::unique_ptr<matching_engine_impl_t> runtime_impl_t::make_engine(
    const matching_engine_attr_t& attributes, matching_make_key_t make_key) {
  auto made = std::make_unique<matching_engine_impl_t>(*this, attributes, make_key);
  engines_.add(made.get());
  return made;
}

matching_engine_impl_t* runtime_impl_t::alloc_matching_engine(
    const matching_engine_attr_t& attributes, matching_make_key_t make_key) {
  std::unique_ptr<matching_engine_impl_t> made = make_engine(attributes, make_key);
  matching_engines_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void runtime_impl_t::free_matching_engine(matching_engine_impl_t* engine) {
  if (engine == default_engine_.get() || engine == collective_engine_.get() ||
      engine == address_engine_.get()) {
    rt::throw_logic_error("free_matching_engine: the default one is freed with its runtime");
  }
  if (const size_t waiting = engine->waiting(); waiting != 0) {
    rt::throw_logic_error("free_matching_engine: ", waiting, " sends or receives wait in it");
  }
  engines_.remove(engine);
  delete engine;
  matching_engines_.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace lci
