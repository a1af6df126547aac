#include "lci/runtime/instance/runtime.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/api/config.hpp"
#include "lci/api/device.hpp"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/completion/recorded.h"
#include "lci/runtime/core/common_settings.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/group.h"

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
                            range{"nrails", attr.nrails, 1, 16},
                            range{"coll_host_leaders", attr.coll_host_leaders, 1, 1 << 20}}) {
    if (each.value >= each.least && each.value <= each.most) continue;
    return base::InvalidArgumentError(base::StrCat("attribute ", each.name, " is ", each.value,
                                                   ", not ", each.least, " to ", each.most));
  }
  for (const auto& [name, value] :
       {std::pair{"coll_copy_area_max_size", attr.coll_copy_area_max_size},
        std::pair{"coll_reduce_area_max_size", attr.coll_reduce_area_max_size}}) {
    if (value <= coll::arena::area_bytes) continue;
    return base::InvalidArgumentError(
        base::StrCat("attribute ", name, " is ", value, ", not 0 to ", coll::arena::area_bytes));
  }
  return base::OkStatus();
}

// Compares with the other ranks what all must have alike before the first message. Returns the
// names of their hosts, by rank.
std::vector<std::string> meet_peers(boot::bootstrap& boot, const runtime_attr_t& attr,
                                    const global_attr_t& defaults) {
  const auto backend = choose_backend(boot.position(), defaults.backend);
  base::Status own = check(attr);
  if (own.ok()) own = backend.status();
  rt::common_settings settings;
  settings.add("the library's release",
               base::StrCat(LCI_VERSION_STRING, " (wire ", rt::wire_version & 0xff, ")"));
  settings.attribute("imm_nbits_tag", base::StrCat(attr.imm_nbits_tag));
  settings.attribute("imm_nbits_rcomp", base::StrCat(attr.imm_nbits_rcomp));
  settings.attribute("imm_nbits_signal_part", base::StrCat(attr.imm_nbits_signal_part));
  settings.attribute("nrails", base::StrCat(attr.nrails));
  settings.attribute("coll_copy_area_max_size", base::StrCat(attr.coll_copy_area_max_size));
  settings.attribute("coll_reduce_area_max_size", base::StrCat(attr.coll_reduce_area_max_size));
  settings.attribute("coll_parts_min_size", base::StrCat(attr.coll_parts_min_size));
  settings.attribute("coll_pipe_max_size", base::StrCat(attr.coll_pipe_max_size));
  settings.attribute("coll_hosts_max_size", base::StrCat(attr.coll_hosts_max_size));
  settings.attribute("coll_host_leaders", base::StrCat(attr.coll_host_leaders));
  settings.attribute("alloc_default_device", base::StrCat(attr.alloc_default_device));
  // Both sides of a connection size their buffers by it.
  settings.attribute("packet_size", base::StrCat(defaults.packet_size));
  if (backend.ok()) {
    add_settings(**backend, alloc_net_context_x().resolve(defaults),
                 alloc_device_x().resolve(defaults), &settings);
  }
  auto hosts = settings.meet(boot, "settings", own);
  if (hosts.ok()) return *std::move(hosts);
  if (base::IsInvalidArgument(own)) rt::throw_invalid_argument(hosts.status().message());
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

runtime_impl_t::runtime_impl_t(std::unique_ptr<boot::bootstrap> boot,
                               const runtime_attr_t& attributes, const global_attr_t& defaults,
                               observe::event_sink record, rt::checker* checks)
    : rank_state(*this, boot->rank(), boot->size(), attributes, record),
      boot_(std::move(boot)),
      no_comp_(attributes_of_no_comp()),
      effect_reports_(rank()) {
  set_checks(checks);
  const std::vector<std::string> hosts = meet_peers(*boot_, attr(), defaults);
  set_imm(rt::imm_layout(attr().imm_nbits_tag, attr().imm_nbits_rcomp));
  set_events(&events_);
  mutable_attr().max_imm_tag = imm().max_tag();
  mutable_attr().max_imm_rcomp = imm().max_rcomp();
  mutable_attr().max_tag = ~uint64_t{0} - 1;  // the last one is ANY_TAG
  mutable_attr().max_rcomp = ~uint32_t{0};
  collective_engine_ = make_engine(alloc_matching_engine_x().resolve(defaults), nullptr);
  // Its number is given in any case.
  default_engine_ = make_engine(alloc_matching_engine_x().resolve(defaults), nullptr);
  matching_engine_attr_t few;
  few.matching_engine_type = attr_matching_engine_type_t::queue;
  address_engine_ = make_engine(few, nullptr);
  if (!attr().alloc_default_matching_engine) {
    engines_.remove(default_engine_.get());
    default_engine_.reset();
  }
  packet_pool_ =
      std::make_unique<packet_pool_impl_t>(*this, alloc_packet_pool_x().resolve(defaults));
  default_net_context_ = make_net_context(alloc_net_context_x().resolve(defaults));
  if (attr().alloc_default_device) {
    default_device_ =
        make_device(*default_net_context_, *packet_pool_, alloc_device_x().resolve(defaults));
    if (default_device_->net->limits().has_add) {
      counters_ = std::make_unique<rt::counter_memory>(*default_net_context_->net);
    }
    for (int i = 1; i < attr().nrails; ++i) {
      rails_.push_back(
          make_device(*default_net_context_, *packet_pool_, alloc_device_x().resolve(defaults)));
    }
    default_device_->set_rails(&rails_);
    shared_memory_ = rt::shared_memory::make(*this, *boot_, *default_net_context_->net);
    if (attr().coll_hosts_max_size > 0) {
      hierarchy_ = rt::hierarchy::make(*this, *boot_, *default_net_context_->net);
    }
    default_device_->start_progress_thread();
  }
  if (rank() == 0) {
    LCI_LOG(info, LCI_VERSION_STRING, ", ", describe_hosts(hosts), ", through ",
            default_net_context_->net->description());
  }
}

runtime_impl_t::~runtime_impl_t() {
  shared_memory_.reset();
  // Ends the receives that a collective left when it was broken off. (One rank's failure ends all
  // of them.)
  if (collective_engine_ != nullptr && collective_engine_->waiting() != 0) {
    collective_engine_->fail_peer(rank());
  }
  if (default_device_ != nullptr && !default_device_->rendezvous.idle()) {
    for (int r = 0; r < size(); ++r) default_device_->rendezvous.fail_peer(r);
  }
  hierarchy_.reset();
  groups_.clear();
  abandoned_.clear();
  default_device_.reset();  // with its progress thread, which uses the rails
  rails_.clear();
  if (default_net_context_ != nullptr) {
    packet_pool_->forget(*default_net_context_);
  }
  // Entries that the engines still have signal nothing anymore.
  if (checks() != nullptr) checks()->forget(this);
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
  add(signals_alive(), "signal");
  add(plans_.load(std::memory_order_acquire), "plan");
  add(persistent_colls_.load(std::memory_order_acquire), "persistent collective");
  const std::shared_lock<std::shared_mutex> guard(groups_mutex_);
  const auto teams = std::count_if(groups_.begin(), groups_.end(),
                                   [](const auto& each) { return each->is_of_thread_team(); });
  add(static_cast<int>(teams), "thread team");
  add(static_cast<int>(groups_.size()) - static_cast<int>(teams), "group");
  return list;
}

void runtime_impl_t::describe(observe::rank_report* report) {
  for (const auto& [name, registered] : list_rcomps()) {
    report->named_objects.insert(registered);
  }
  if (has_pending_collectives()) report->has_unknown_objects = true;
}

int runtime_impl_t::note_failure(int rank) {
  const int first = any_failed() ? rank : rt::first_victim(*boot_, rank);
  if (first != rank) engines_.fail_peer(first);  // before, so that it is first_failed()
  engines_.fail_peer(rank);
  return first;
}

void runtime_impl_t::set_rcomp(rcomp_t rcomp, comp_impl_t* comp) {
  // For a handler, whose function progress() would call without signal().
  if (record() && comp != nullptr && rt::is_of_type(*comp, attr_comp_type_t::handler)) {
    const std::lock_guard<std::mutex> guard(recorded_mutex_);
    recorded_rcomps_.push_back(std::make_unique<rt::forwarding_comp>(comp));
    comp = recorded_rcomps_.back().get();
  }
  rank_state::set_rcomp(rcomp, comp);
}

// Groups.

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
  const auto advance = [](rt::shared_memory* memory) {
    return memory != nullptr && memory->has_pending() && memory->advance();
  };
  bool moved = advance(shared_memory_.get());
  if (hierarchy_ != nullptr && advance(&hierarchy_->memory())) moved = true;
  const std::shared_lock<std::shared_mutex> guard(groups_mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return moved;
  for (const std::unique_ptr<group_impl_t>& each : groups_) {
    if (advance(each->memory_in_use())) moved = true;
  }
  return moved;
}

}  // namespace lci
