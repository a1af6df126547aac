#include "lci/runtime/instance/group.h"

#include <utility>

#include "lci/base/log.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

namespace {

// For the collective operations of a group.
std::unique_ptr<matching_engine_impl_t> make_engine(runtime_impl_t& owner) {
  matching_engine_attr_t attributes;
  attributes.matching_engine_type = attr_matching_engine_type_t::queue;  // of few entries
  auto made = std::make_unique<matching_engine_impl_t>(owner, attributes, nullptr);
  owner.engines().add_of_group(made.get());
  return made;
}

}  // namespace

group_impl_t::group_impl_t(runtime_impl_t& owner, const group_attr_t& attributes)
    : runtime(owner), attr(attributes), members_(owner), engine_(make_engine(owner)) {
  own_.engine = engine_->id;
  // Collective operations in shared memory make progress with the default device.
  if (owner.default_device() == nullptr) return;
  net::context& network = *owner.default_net_context()->net;
  if (!network.maps_memory_of(owner.rank())) return;
  const auto made = network.allocate_memory(coll::arena::block_bytes());
  if (!made.ok()) {
    LCI_LOG(warn, "a group goes without shared memory: ", made.status().ToString());
    return;
  }
  block_ = *made;
  own_.block = network.remote_key(made->region);
  own_.has_block = 1;
}

group_impl_t::~group_impl_t() {
  shared_memory_.reset();
  host_memory_.reset();
  // Ends the receives that an operation left when it was broken off.
  if (engine_->waiting() != 0) {
    for (const int each : members_.ranks()) engine_->fail_peer(each);
  }
  hierarchy_.reset();
  runtime.engines().remove_of_group(engine_.get());
  engine_.reset();
  // Memory that is not freed stays mapped for the other ranks, which may still read in it which
  // rank broke off which operation.
  if (block_ && !is_used_by_others_) runtime.default_net_context()->net->free_memory(*block_);
}

void group_impl_t::join(std::vector<int> ranks, const std::vector<introduction>& introductions) {
  is_used_by_others_ = true;
  members_.set_ranks(std::move(ranks));
  place_ = place_of(runtime.rank());
  for (const introduction& each : introductions) {
    engines_.push_back(static_cast<uint16_t>(each.engine));
  }
  runtime.engines().join_group(engine_.get(), &members_);
  if (!block_) return;
  net::context& network = *runtime.default_net_context()->net;
  const rt::hierarchy* const all = runtime.hierarchy();
  const auto is_here = [this, all](int rank) {
    return all == nullptr || all->host_of(rank) == all->host_of(runtime.rank());
  };
  rt::shared_memory::host_blocks near;  // the ranks of this host
  for (size_t i = 0; i < members_.ranks().size(); ++i) {
    const int rank = members_.ranks()[i];
    if (!is_here(rank)) continue;
    void* block = block_->address;
    if (static_cast<int>(i) != place_) {
      block = introductions[i].has_block == 0
                  ? nullptr
                  : network.map_memory(rank, introductions[i].block, coll::arena::block_bytes());
    } else {
      near.index = static_cast<int>(near.ranks.size());
    }
    if (block == nullptr) return;
    near.ranks.push_back(rank);
    near.blocks.push_back(block);
  }
  const bool is_whole = near.ranks.size() == members_.ranks().size();
  (is_whole ? shared_memory_ : host_memory_) = rt::shared_memory::make(
      runtime, this, network, std::move(near), is_whole ? 1 : rt::hierarchy::phases);
}

rt::hierarchy::report group_impl_t::report() const {
  const rt::hierarchy* const all = runtime.hierarchy();
  if (all == nullptr || host_memory_ == nullptr) return {};
  return {all->host_of(runtime.rank()), static_cast<uint32_t>(host_memory_->own_state())};
}

void group_impl_t::find_shared_memory(const std::vector<rt::hierarchy::report>& reports) {
  if (host_memory_ != nullptr && rt::hierarchy::is_possible(reports)) {
    hierarchy_ = std::make_unique<rt::hierarchy>(std::move(host_memory_), reports, place_);
  }
  host_memory_.reset();
  attr.shares_memory = shared_memory_ != nullptr &&
                       shared_memory_->arena().joined() >= coll::arena::join_state::mapped;
}

bool group_impl_t::is_in_use() const {
  // Not the messages of ranks that are already leaving.
  return engine_->waiting_receives() != 0 ||
         (memory_in_use() != nullptr && memory_in_use()->has_pending());
}

namespace rt {

group_impl_t& checked_group(group_t group, const char* call) {
  if (group == GROUP_NULL) {
    throw_invalid_argument(call, ": the group is GROUP_NULL: this rank is in none");
  }
  return checked_object(group, call, "group");
}

}  // namespace rt
}  // namespace lci
