#include "lci/runtime/runtime.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/api/config.hpp"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/boot/scoped.h"
#include "lci/net/capacity.h"
#include "lci/net/exchange.h"
#include "lci/observe/counting.h"
#include "lci/observe/waiting.h"
#include "lci/runtime/agreement.h"
#include "lci/runtime/coll/group.h"
#include "lci/runtime/recording_network.h"
#include "lci/runtime/start_failure.h"
#include "lci/runtime/traffic.h"
#include "lci/runtime/wait.h"

namespace lci {
namespace {

comp_attr_t attributes_of_no_comp() {
  comp_attr_t attr;
  attr.comp_type = attr_comp_type_t::counter;
  attr.lend_am = true;
  attr.name = "empty";
  return attr;
}

base::Status check(const runtime_attr_t& attr) {
  struct range {
    const char* name;
    int value;
    int least;
    int most;
  };
  for (const range& each : {range{"imm_nbits_tag", attr.imm_nbits_tag, 0, 16},
                            range{"imm_nbits_rcomp", attr.imm_nbits_rcomp, 1, 15},
                            range{"imm_nbits_signal_part", attr.imm_nbits_signal_part, 0, 16},
                            range{"nrails", attr.nrails, 1, 16}}) {
    if (each.value >= each.least && each.value <= each.most) continue;
    return base::InvalidArgumentError(base::StrCat("attribute ", each.name, " is ", each.value,
                                                   ", not ", each.least, " to ", each.most));
  }
  return base::OkStatus();
}

// The part of the attributes of all resources that is this one's.
#define LCI_ATTR_COPY(type_, name_, default_, doc_) attr.name_ = defaults.name_;
#define LCI_DEFINE_PART(resource_, RESOURCE_)                          \
  resource_##_attr_t resource_##_part(const global_attr_t& defaults) { \
    resource_##_attr_t attr;                                           \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_COPY) return attr;                \
  }
LCI_DEFINE_PART(net_context, NET_CONTEXT)
LCI_DEFINE_PART(device, DEVICE)
LCI_DEFINE_PART(packet_pool, PACKET_POOL)
LCI_DEFINE_PART(matching_engine, MATCHING_ENGINE)
#undef LCI_DEFINE_PART
#undef LCI_ATTR_COPY

// Compares with the other ranks what all must have alike before the first message. Returns the
// names of their hosts, by rank.
std::vector<std::string> meet_peers(boot::bootstrap& boot, const runtime_attr_t& attr,
                                    const global_attr_t& defaults) {
  const auto backend = choose_backend(boot.position(), defaults.backend);
  base::Status own = check(attr);
  if (own.ok()) own = backend.status();
  rt::agreement ours;
  ours.add("the library's release",
           base::StrCat(LCI_VERSION_STRING, " (wire ", rt::wire_version & 0xff, ")"));
  ours.attribute("imm_nbits_tag", base::StrCat(attr.imm_nbits_tag));
  ours.attribute("imm_nbits_rcomp", base::StrCat(attr.imm_nbits_rcomp));
  ours.attribute("imm_nbits_signal_part", base::StrCat(attr.imm_nbits_signal_part));
  ours.attribute("nrails", base::StrCat(attr.nrails));
  ours.attribute("alloc_default_device", base::StrCat(attr.alloc_default_device));
  const std::string_view network = backend.ok() ? (*backend)->name : "";
  ours.attribute("backend", network);
  // Both sides of a connection size their buffers by them.
  ours.attribute("packet_size", base::StrCat(defaults.packet_size));
  if (network == "shm" || network == "mixed") {
    ours.attribute("shm_eager_size", base::StrCat(defaults.shm_eager_size));
  }
  if (network == "ofi" || network == "mixed") {
    ours.attribute("ofi_provider_name", defaults.ofi_provider_name);
  }
  auto hosts = ours.meet(boot, "agreement", own);
  if (hosts.ok()) return *std::move(hosts);
  if (base::IsInvalidArgument(own)) {
    throw std::invalid_argument(base::StrCat("lci: ", hosts.status().message()));
  }
  rt::throw_start_failure(boot, "", hosts.status());
}

// "4 ranks on n1 (2), n2 (2)", in the order of ranks; of many hosts the first few.
std::string describe_hosts(const std::vector<std::string>& hosts) {
  constexpr size_t most = 4;
  std::vector<std::pair<std::string_view, int>> counts;
  for (const std::string& host : hosts) {
    const auto at = std::find_if(counts.begin(), counts.end(),
                                 [&host](const auto& known) { return known.first == host; });
    if (at == counts.end()) {
      counts.emplace_back(host, 1);
    } else {
      ++at->second;
    }
  }
  std::string text = base::StrCat(hosts.size(), hosts.size() == 1 ? " rank on " : " ranks on ");
  for (size_t i = 0; i < std::min(most, counts.size()); ++i) {
    base::StrAppend(&text, i == 0 ? "" : ", ", counts[i].first);
    if (counts.size() > 1) base::StrAppend(&text, " (", counts[i].second, ")");
  }
  if (counts.size() > most) {
    base::StrAppend(&text, " and ", counts.size() - most, " more hosts");
  }
  return text;
}

}  // namespace

allocator_default_t g_allocator_default;

runtime_impl_t::runtime_impl_t(std::unique_ptr<boot::bootstrap> boot,
                               const runtime_attr_t& attributes, const global_attr_t& defaults,
                               observe::event_sink record)
    : boot_(std::move(boot)),
      attr_(attributes),
      failed_(new std::atomic<bool>[static_cast<size_t>(boot_->size())]()),
      counts_traffic_(observe::counts_traffic().load()),
      no_comp_(attributes_of_no_comp()),
      effect_reports_(boot_->rank()),
      record_(record) {
  const std::vector<std::string> hosts = meet_peers(*boot_, attr_, defaults);
  imm_ = rt::imm_layout(attr_.imm_nbits_tag, attr_.imm_nbits_rcomp);
  attr_.max_imm_tag = imm_.max_tag();
  attr_.max_imm_rcomp = imm_.max_rcomp();
  attr_.max_tag = ~uint64_t{0} - 1;  // the last one is ANY_TAG
  attr_.max_rcomp = ~uint32_t{0};
  collective_engine_ = make_engine(matching_engine_part(defaults), nullptr);
  // Its number is given in any case.
  default_engine_ = make_engine(matching_engine_part(defaults), nullptr);
  matching_engine_attr_t few;
  few.matching_engine_type = attr_matching_engine_type_t::queue;
  address_engine_ = make_engine(few, nullptr);
  if (!attr_.alloc_default_matching_engine) {
    engines_.set(default_engine_->id, nullptr);
    default_engine_.reset();
  }
  packet_pool_ = std::make_unique<packet_pool_impl_t>(*this, packet_pool_part(defaults));
  default_net_context_ = make_net_context(net_context_part(defaults));
  if (attr_.alloc_default_device) {
    default_device_ = make_device(*default_net_context_, *packet_pool_, device_part(defaults));
    if (default_device_->net->limits().has_add) {
      counters_ = std::make_unique<rt::counter_memory>(*default_net_context_->net);
    }
    for (int i = 1; i < attr_.nrails; ++i) {
      rails_.push_back(make_device(*default_net_context_, *packet_pool_, device_part(defaults)));
    }
    default_device_->set_rails(&rails_);
    shared_memory_ = rt::shared_memory::make(*this, *boot_, *default_net_context_->net);
    default_device_->start_progress_thread();
  }
  if (rank() == 0) {
    LCI_LOG(info, LCI_VERSION_STRING, ", ", describe_hosts(hosts), ", through ",
            default_net_context_->net->description());
  }
}

runtime_impl_t::~runtime_impl_t() {
  shared_memory_.reset();
  // What a collective was left with when it was broken off. (One rank's failure ends all of them.)
  if (collective_engine_ != nullptr && collective_engine_->waiting() != 0) {
    collective_engine_->fail_peer(rank());
  }
  if (default_device_ != nullptr && !default_device_->rendezvous.idle()) {
    for (int r = 0; r < size(); ++r) default_device_->rendezvous.fail_peer(r);
  }
  groups_.clear();
  abandoned_.clear();
  default_device_.reset();  // with its progress thread, which uses the rails
  rails_.clear();
  if (default_net_context_ != nullptr) {
    packet_pool_->forget(*default_net_context_);
  }
}

std::string runtime_impl_t::left_over() const {
  std::string list;
  const auto add = [&list](int count, std::string_view what) {
    if (count == 0) return;
    base::StrAppend(&list, list.empty() ? "" : ", ", count, " ", what, count == 1 ? "" : "s");
  };
  add(devices_.load(std::memory_order_acquire), "device");
  add(net_contexts_.load(std::memory_order_acquire), "net context");
  add(packet_pools_.load(std::memory_order_acquire), "packet pool");
  add(matching_engines_.load(std::memory_order_acquire), "matching engine");
  if (default_device_ != nullptr) add(default_device_->extra_endpoints(), "endpoint");
  add(regions_.load(std::memory_order_acquire), "registered memory region");
  add(signals_alive_.load(std::memory_order_acquire), "signal");
  add(plans_.load(std::memory_order_acquire), "plan");
  add(number_of_groups(), "group");
  return list;
}

int runtime_impl_t::note_failure(int rank) {
  const int first = any_failed() ? rank : rt::first_victim(*boot_, rank);
  if (first != rank) set_failed(first);  // before, so that it is first_failed()
  set_failed(rank);
  return first;
}

void runtime_impl_t::set_failed(int rank) {
  failed_[static_cast<size_t>(rank)].store(true, std::memory_order_release);
  int none = -1;
  first_failed_.compare_exchange_strong(none, rank, std::memory_order_acq_rel);
  if (record_ && record_.to()->keep(observe::keep_peer_lost)) {
    LCI_LOG(info, "rank ", rank, " is gone; ", record_.to()->path(), " keeps the last events");
  }
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  for (uint32_t id = 0; id < next_engine_; ++id) {
    matching_engine_impl_t* engine = engines_.get(id);
    if (engine != nullptr) engine->fail_peer(rank);
  }
  for (uint32_t i = 0; i < group_engines_made_; ++i) {
    matching_engine_impl_t* engine = group_engines_.get(i);
    if (engine != nullptr) engine->fail_peer(rank);
  }
}

// ---- net contexts and devices -------------------------------------------------------------------

std::unique_ptr<net_context_impl_t> runtime_impl_t::make_net_context(
    const net_context_attr_t& attributes) {
  effect_reports_.check(attributes);
  const int number = net_contexts_made_.fetch_add(1, std::memory_order_relaxed);
  auto scope = std::make_unique<boot::scoped_bootstrap>(*boot_, base::StrCat("n", number));
  return std::make_unique<net_context_impl_t>(*this, attributes, std::move(scope), number);
}

void runtime_impl_t::gather() {
  if (default_device_ == nullptr || !default_device_->net->limits().polls_after_done) return;
  const observe::waiting waiting({"a call that all ranks make together"});
  const base::Status met = net::agree_while(*boot_, base::StrCat("gather-", gathers_.fetch_add(1)),
                                            base::OkStatus(), [this] {
                                              if (!rt::inside_progress()) {
                                                default_device_->progress();
                                              }
                                              return base::OkStatus();
                                            });
  if (!met.ok()) {
    rt::throw_start_failure(*boot_, "the ranks could not meet to make something", met);
  }
}

net_context_impl_t* runtime_impl_t::alloc_net_context(const net_context_attr_t& attributes) {
  gather();
  std::unique_ptr<net_context_impl_t> made = make_net_context(attributes);
  net_contexts_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void runtime_impl_t::free_net_context(net_context_impl_t* context) {
  if (context == default_net_context_.get()) {
    throw std::logic_error("lci: free_net_context: the default one is freed with its runtime");
  }
  const int users = context->users.load(std::memory_order_acquire);
  if (users != 0) {
    throw std::logic_error(base::StrCat("lci: free_net_context: ", users,
                                        " devices or memory regions of it have not been freed"));
  }
  packet_pool_->forget(*context);
  delete context;
  net_contexts_.fetch_sub(1, std::memory_order_acq_rel);
}

std::unique_ptr<device_impl_t> runtime_impl_t::make_device(net_context_impl_t& context,
                                                           packet_pool_impl_t& packets,
                                                           device_attr_t attributes) {
  // Before a number is taken, which is the same on all ranks.
  const auto queues = net::sum_queues(attributes.net_max_sends, attributes.net_max_recvs,
                                      attributes.net_max_cqes, attributes.net_send_reserved_pct);
  if (!queues.ok()) {
    throw std::invalid_argument(base::StrCat("lci: ", queues.status().message()));
  }
  if (attributes.signal_level < -1 || attributes.signal_level > 4) {
    throw std::invalid_argument(base::StrCat("lci: attribute signal_level is ",
                                             attributes.signal_level, ", not 0 to 4, or -1"));
  }
  // All bits below the highest one.
  if (attributes.am_poll_mask < -1 || (static_cast<uint32_t>(attributes.am_poll_mask) &
                                       (static_cast<uint32_t>(attributes.am_poll_mask) + 1)) != 0) {
    throw std::invalid_argument(base::StrCat("lci: attribute am_poll_mask is ",
                                             attributes.am_poll_mask,
                                             ", not 2^n - 1 (0, 1, 3, 7, ...), or -1"));
  }
  effect_reports_.check(attributes);
  attributes.uid = context.next_uid.fetch_add(1, std::memory_order_relaxed);
  net::device_config config;
  config.uid = attributes.uid;
  config.queues = *queues;
  config.max_message = packets.attr.packet_size + net::max_header_size;
  config.eager_size = attributes.shm_eager_size;
  config.cooperative_copy_size = attributes.shm_joint_copy_size;
  config.coalescing_size = attributes.ofi_gather_size;
  config.piece_size = attributes.ofi_piece_size;
  config.ibv_td_strategy = attributes.ibv_td_strategy;
  config.sleeps = attributes.progress_thread;
  auto network = context.net->make_device(config);
  if (!network.ok()) {
    rt::throw_start_failure(*boot_,
                            base::StrCat("rank ", rank(), " can't make device ", attributes.uid),
                            network.status());
  }
  std::unique_ptr<net::device> through = *std::move(network);
  const rt::traffic* counted = nullptr;
  if (counts_traffic_) {
    auto counting = std::make_unique<rt::counting_network>(std::move(through), size());
    counted = &counting->counted();
    through = std::move(counting);
  }
  if (record_) {
    rt::recording_network::place where;
    where.to = record_;
    where.context = static_cast<uint8_t>(context.number);
    where.device = static_cast<uint16_t>(attributes.uid);
    where.ranks = size();
    where.imm = imm_;
    through = std::make_unique<rt::recording_network>(std::move(through), where);
  }
  auto made =
      std::make_unique<device_impl_t>(context, packets, attributes, std::move(through), counted);
  // Equal for all devices of a context; the first is made before any other thread has the context.
  if (attributes.uid == 0) context.attr.support_putimm = made->has_put_imm32();
  return made;
}

device_impl_t* runtime_impl_t::alloc_device(net_context_impl_t& context,
                                            packet_pool_impl_t& packets,
                                            const device_attr_t& attributes) {
  const observe::waiting waiting({"alloc_device"});
  gather();
  std::unique_ptr<device_impl_t> device = make_device(context, packets, attributes);
  device->serve(default_device_.get());
  device->start_progress_thread();
  devices_.fetch_add(1, std::memory_order_acq_rel);
  return device.release();
}

void runtime_impl_t::free_device(device_impl_t* device) {
  if (device == default_device_.get()) {
    throw std::logic_error("lci: free_device: the default device is freed with its runtime");
  }
  if (device->extra_endpoints() != 0) {
    throw std::logic_error(base::StrCat("lci: free_device: ", device->extra_endpoints(),
                                        " endpoints of it have not been freed"));
  }
  if (!device->idle()) {
    throw std::logic_error(base::StrCat("lci: free_device: operations are under way on device ",
                                        device->attr.uid, "; call wait_drained first"));
  }
  // What peers have only to take, as a barrier's last message, is nobody's mistake.
  rt::wait_until(device, {"free_device"}, [device] { return device->drained(); });
  delete device;
  devices_.fetch_sub(1, std::memory_order_acq_rel);
}

mr_impl_t* runtime_impl_t::register_memory(net_context_impl_t& context, void* address, size_t size,
                                           const mr_attr_t& attributes) {
  auto registered = context.net->register_memory(address, size);
  if (!registered.ok()) {
    throw std::runtime_error(base::StrCat("lci: register_memory: ", size, " bytes on rank ", rank(),
                                          ": ", registered.status().ToString()));
  }
  auto made = std::make_unique<mr_impl_t>(context, attributes, address, size, *registered, false);
  context.registrations.add(*registered, address, size);
  context.users.fetch_add(1, std::memory_order_acq_rel);
  regions_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

mr_impl_t* runtime_impl_t::alloc_memory(net_context_impl_t& context, size_t size,
                                        const mr_attr_t& attributes) {
  const auto made = context.net->allocate_memory(size);
  if (!made.ok()) {
    throw std::runtime_error(base::StrCat("lci: alloc_mr: ", size, " bytes on rank ", rank(), ": ",
                                          made.status().ToString()));
  }
  std::unique_ptr<mr_impl_t> mr;
  try {
    mr = std::make_unique<mr_impl_t>(context, attributes, made->address, size, made->region, true);
  } catch (...) {
    context.net->free_memory(*made);
    throw;
  }
  context.registrations.add(made->region, made->address, size);
  context.users.fetch_add(1, std::memory_order_acq_rel);
  regions_.fetch_add(1, std::memory_order_acq_rel);
  return mr.release();
}

void runtime_impl_t::deregister_memory(mr_impl_t* region) {
  net::context& net = *region->context.net;
  const net::context::allocation closed{region->address, region->size, region->region};
  const bool allocated = region->allocated;
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

// ---- packet pools -------------------------------------------------------------------------------

packet_pool_impl_t* runtime_impl_t::alloc_packet_pool(const packet_pool_attr_t& attributes) {
  auto made = std::make_unique<packet_pool_impl_t>(*this, attributes);
  packet_pools_.fetch_add(1, std::memory_order_acq_rel);
  return made.release();
}

void runtime_impl_t::free_packet_pool(packet_pool_impl_t* pool) {
  if (pool == packet_pool_.get()) {
    throw std::logic_error("lci: free_packet_pool: the default one is freed with its runtime");
  }
  const int devices = pool->devices.load(std::memory_order_acquire);
  if (devices != 0) {
    throw std::logic_error(
        base::StrCat("lci: free_packet_pool: ", devices, " devices still use it"));
  }
  if (const size_t out = pool->in_use(); out != 0) {
    throw std::logic_error(base::StrCat("lci: free_packet_pool: ", out,
                                        " packets of it have not been given back (put_upacket)"));
  }
  delete pool;
  packet_pools_.fetch_sub(1, std::memory_order_acq_rel);
}

// ---- matching engines ---------------------------------------------------------------------------

std::unique_ptr<matching_engine_impl_t> runtime_impl_t::make_engine(
    const matching_engine_attr_t& attributes, matching_make_key_t make_key) {
  auto made = std::make_unique<matching_engine_impl_t>(*this, attributes, make_key);
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  if (next_engine_ + group_engines_made_ > first_group_engine) {
    throw std::runtime_error("lci: alloc_matching_engine: 65535 have been made");
  }
  made->id = next_engine_++;
  engines_.set(made->id, made.get());
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
    throw std::logic_error("lci: free_matching_engine: the default one is freed with its runtime");
  }
  if (const size_t waiting = engine->waiting(); waiting != 0) {
    throw std::logic_error(
        base::StrCat("lci: free_matching_engine: ", waiting, " sends or receives wait in it"));
  }
  {
    const std::lock_guard<std::mutex> guard(engines_mutex_);
    engines_.set(engine->id, nullptr);
  }
  delete engine;
  matching_engines_.fetch_sub(1, std::memory_order_acq_rel);
}

std::unique_ptr<matching_engine_impl_t> runtime_impl_t::make_group_engine() {
  matching_engine_attr_t attributes;
  attributes.matching_engine_type = attr_matching_engine_type_t::queue;  // of few entries
  auto made = std::make_unique<matching_engine_impl_t>(*this, attributes, nullptr);
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  if (!free_group_engines_.empty()) {
    made->id = free_group_engines_.back();
    free_group_engines_.pop_back();
  } else {
    if (next_engine_ + group_engines_made_ > first_group_engine) {
      throw std::runtime_error("there are 65535 matching engines and groups");
    }
    made->id = first_group_engine - group_engines_made_++;
  }
  group_engines_.set(first_group_engine - made->id, made.get());
  return made;
}

std::optional<rt::matching_key> runtime_impl_t::find_receive_of(const comp_impl_t& comp) {
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  for (uint32_t id = 0; id < next_engine_; ++id) {
    matching_engine_impl_t* const engine = engines_.get(id);
    if (engine == nullptr) continue;
    if (const auto found = engine->find_receive_of(comp)) return found;
  }
  return std::nullopt;
}

void runtime_impl_t::join_group_engine(matching_engine_impl_t* engine, const group_impl_t* group) {
  // set_failed() reads it.
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  engine->group = group;
}

void runtime_impl_t::end_group_engine(std::unique_ptr<matching_engine_impl_t> engine) {
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  group_engines_.set(first_group_engine - engine->id, nullptr);
  free_group_engines_.push_back(engine->id);
}

[[gnu::noinline]] matching_engine_impl_t* runtime_impl_t::find_group_engine(uint32_t id,
                                                                            int sender) const {
  matching_engine_impl_t* const engine =
      id <= first_group_engine ? group_engines_.get(first_group_engine - id) : nullptr;
  if (engine == nullptr) report_no_engine(id, sender);
  return engine;
}

void runtime_impl_t::report_no_engine(uint32_t id, int sender) const {
  throw std::runtime_error(base::StrCat(
      "lci: rank ", rank(), " dropped a message of rank ", sender, " for matching engine ", id,
      ", which it does not have; allocate it before a barrier and send after it"));
}

// ---- groups -------------------------------------------------------------------------------------

group_impl_t* runtime_impl_t::add_group(std::unique_ptr<group_impl_t> made) {
  const std::lock_guard<std::shared_mutex> guard(groups_mutex_);
  groups_.push_back(std::move(made));
  return groups_.back().get();
}

std::unique_ptr<group_impl_t> runtime_impl_t::remove_group(group_impl_t* group) {
  const std::lock_guard<std::shared_mutex> guard(groups_mutex_);
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [group](const auto& each) { return each.get() == group; });
  std::unique_ptr<group_impl_t> removed = std::move(*found);
  groups_.erase(found);
  return removed;
}

void runtime_impl_t::abandon_group(std::unique_ptr<group_impl_t> left) {
  const std::lock_guard<std::shared_mutex> guard(groups_mutex_);
  abandoned_.push_back(std::move(left));
}

int runtime_impl_t::number_of_groups() const {
  const std::shared_lock<std::shared_mutex> guard(groups_mutex_);
  return static_cast<int>(groups_.size());
}

void runtime_impl_t::defer_failure(const peer_failure_error& failure) {
  const std::lock_guard<std::mutex> guard(deferred_mutex_);
  deferred_failures_.push_back(failure);
  count_pending_collectives(1);
}

void runtime_impl_t::throw_deferred_failure() {
  const std::lock_guard<std::mutex> guard(deferred_mutex_);
  if (deferred_failures_.empty()) return;
  const peer_failure_error failure = deferred_failures_.back();
  deferred_failures_.pop_back();
  count_pending_collectives(-1);
  throw peer_failure_error(failure);
}

// Threads advance the operations of different groups at a time: each leaves those alone that
// another one is advancing.
bool runtime_impl_t::advance_collectives() {
  throw_deferred_failure();
  bool moved =
      shared_memory_ != nullptr && shared_memory_->has_pending() && shared_memory_->advance();
  const std::shared_lock<std::shared_mutex> guard(groups_mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return moved;
  for (const std::unique_ptr<group_impl_t>& each : groups_) {
    rt::shared_memory* const shared = each->shared_memory();
    if (shared != nullptr && shared->has_pending() && shared->advance()) moved = true;
  }
  return moved;
}

// ---- memory -------------------------------------------------------------------------------------

void* runtime_impl_t::allocate_otherwise(size_t size, int sender) {
  void* buffer = nullptr;
  try {
    buffer = allocator_->allocate(size);
  } catch (const std::exception&) {  // told below
  }
  if (__builtin_expect(buffer == nullptr, 0)) {
    throw std::runtime_error(base::StrCat("lci: rank ", rank(), " has no memory for ", size,
                                          " bytes from rank ", sender));
  }
  return buffer;
}

}  // namespace lci
