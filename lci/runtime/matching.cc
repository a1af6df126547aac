#include "lci/runtime/matching.h"

#include <cstring>
#include <utility>
#include <vector>

#include "lci/base/log.h"
#include "lci/runtime/device.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {

using entry_type = ds::matching_type;

matching_engine::entries_type matching_engine::make_entries(attr_matching_engine_type_t type) {
  if (type == attr_matching_engine_type_t::map) {
    return entries_type(std::in_place_type<ds::matching_table>);
  }
  return entries_type(std::in_place_type<ds::matching_queue>);
}

matching_engine::matching_engine(runtime_impl_t& owner, const matching_engine_attr_t& attributes,
                                 matching_make_key_t make_key)
    : runtime(owner),
      attr(attributes),
      make_key_(make_key),
      entries_(make_entries(attributes.matching_engine_type)) {}

matching_engine::~matching_engine() {
  // Messages that nobody received hold packets.
  if (unexpected_.in_use() == 0) return;
  const auto put_packet = [](uint64_t, void* value, entry_type type) {
    if (type != entry_type::send) return;
    packet* bytes = static_cast<unexpected*>(static_cast<entry*>(value))->bytes;
    if (bytes != nullptr) bytes->put();
  };
  std::visit([&](auto& entries) { entries.for_each(put_packet); }, entries_);
}

// Equal for equal keys.
uint64_t matching_engine::hash(const matching_key& key) const {
  if (make_key_ != nullptr && !key.collective) return make_key_(key.rank, key.tag, key.policy);
  const auto rank = static_cast<uint64_t>(key.rank + 1) * 0xc2b2ae3d27d4eb4f;
  switch (key.policy) {
    case matching_policy_t::rank_only:
      return rank;
    case matching_policy_t::tag_only:
      return key.tag;
    case matching_policy_t::rank_tag:
      return key.tag + rank;
    default:
      return 0;
  }
}

// The oldest entry of the other type that matches, taken out; or null, and what make() returns
// waits.
template <class Make>
matching_engine::entry* matching_engine::find_or_wait(const matching_key& key, entry_type type,
                                                      const Make& make) {
  const auto same = [this, &key](const void* value) {
    const matching_key& other = static_cast<const entry*>(value)->key;
    // The program's own keys say all.
    if (make_key_ != nullptr && !key.collective && !other.collective) return true;
    return other == key;
  };
  const auto make_entry = [&make]() -> void* { return static_cast<entry*>(make()); };
  void* found = std::visit(
      [&](auto& entries) { return entries.insert(hash(key), type, same, make_entry); }, entries_);
  return static_cast<entry*>(found);
}

matching_engine::unexpected matching_engine::take(unexpected* arrived) {
  const unexpected taken = *arrived;
  unexpected_.recycle(arrived);
  return taken;
}

error_t matching_engine::post_recv(const message& incoming, status_t* status) {
  const matching_key key = incoming.key(incoming.rank);
  entry* match = find_or_wait(key, entry_type::recv, [&] {
    receive* waiting = receives_.make();
    waiting->key = key;
    waiting->incoming = incoming;
    return waiting;
  });
  if (match == nullptr) {
    // It may have failed before the receive was there to be found.
    if (__builtin_expect(runtime.any_failed(), 0) && incoming.rank >= 0) {
      if (incoming.collective) fail_peer(runtime.first_failed());
      if (runtime.has_failed(incoming.rank)) fail_peer(incoming.rank);
    }
    return errorcode_t::posted;
  }
  const unexpected arrived = take(static_cast<unexpected*>(match));
  if (!arrived.eager) {
    accept(*arrived.device, incoming, arrived.announced);
    return errorcode_t::posted;
  }
  message received = incoming;
  received.rank = arrived.announced.rank;
  received.tag = arrived.announced.tag;
  const void* bytes = arrived.bytes == nullptr ? nullptr : arrived.bytes->payload();
  const size_t size = arrived.announced.size;
  const bool fits = size <= incoming.size;
  if (fits && size > 0) std::memcpy(incoming.buffer, bytes, size);
  if (arrived.bytes != nullptr) arrived.bytes->put();
  if (!fits) {
    LCI_LOG(error, "rank ", received.rank, " sent ", size, " bytes to a receive of ",
            incoming.size);
    received.signal(errorcode_t::fatal);
    return errorcode_t::posted;
  }
  received.size = size;
  received.release();
  *status = received.status(errorcode_t::done);
  return errorcode_t::done;
}

void matching_engine::on_eager(device_impl_t& device, const matching_key& key, const void* bytes,
                               size_t size) {
  entry* match = find_or_wait(key, entry_type::send, [&] {
    unexpected* arrived = unexpected_.make();
    arrived->bytes = nullptr;
    if (size > 0) {
      try {
        arrived->bytes = device.packets().get_for(size);
      } catch (...) {
        unexpected_.recycle(arrived);
        throw;
      }
      // The bytes are lent only for the length of this call.
      std::memcpy(arrived->bytes->payload(), bytes, size);
    }
    arrived->key = key;
    arrived->device = &device;
    arrived->announced.rank = key.rank;
    arrived->announced.tag = key.tag;
    arrived->announced.size = size;
    arrived->eager = true;
    return arrived;
  });
  if (match == nullptr) return;
  auto* waiting = static_cast<receive*>(match);
  message incoming = waiting->incoming;
  receives_.recycle(waiting);
  incoming.rank = key.rank;
  incoming.tag = key.tag;
  if (size > incoming.size) {
    LCI_LOG(error, "rank ", key.rank, " sent ", size, " bytes to a receive of ", incoming.size);
    incoming.signal(errorcode_t::fatal);
    return;
  }
  if (size > 0) std::memcpy(incoming.buffer, bytes, size);
  incoming.size = size;
  incoming.signal(errorcode_t::done);
}

void matching_engine::on_announced(device_impl_t& device, const announcement& announced) {
  const matching_key key = announced.key();
  entry* match = find_or_wait(key, entry_type::send, [&] {
    unexpected* arrived = unexpected_.make();
    arrived->key = key;
    arrived->device = &device;
    arrived->announced = announced;
    arrived->bytes = nullptr;
    arrived->eager = false;
    return arrived;
  });
  if (match == nullptr) return;
  auto* waiting = static_cast<receive*>(match);
  const message incoming = waiting->incoming;
  receives_.recycle(waiting);
  accept(device, incoming, announced);
}

void matching_engine::accept(device_impl_t& device, const message& incoming,
                             const announcement& announced) {
  message received = incoming;
  received.rank = announced.rank;
  received.tag = announced.tag;
  if (announced.size > incoming.size) {
    LCI_LOG(error, "rank ", announced.rank, " wants to send ", announced.size,
            " bytes to a receive of ", incoming.size);
    device.rendezvous.reject(announced);
    received.signal(errorcode_t::fatal);
    return;
  }
  received.size = announced.size;
  device.rendezvous.accept(announced, received);
}

void matching_engine::fail_peer(int rank) {
  std::vector<receive*> failed;
  const auto take_if_hopeless = [&](void* value, entry_type type) {
    if (type != entry_type::recv) return false;
    const matching_key& key = static_cast<entry*>(value)->key;
    const bool ranks_count =
        key.policy == matching_policy_t::rank_only || key.policy == matching_policy_t::rank_tag;
    if (!key.collective && (!ranks_count || key.rank != rank)) return false;
    failed.push_back(static_cast<receive*>(static_cast<entry*>(value)));
    return true;
  };
  std::visit([&](auto& entries) { entries.remove_if(take_if_hopeless); }, entries_);
  for (receive* waiting : failed) {
    const message incoming = waiting->incoming;
    receives_.recycle(waiting);
    incoming.signal(errorcode_t::fatal);
  }
}

void* matching_engine::insert(uint64_t key, void* value, matching_entry_type_t type) {
  std::call_once(values_once_, [this] {
    values_.reset(new entries_type(make_entries(attr.matching_engine_type)));
  });
  const entry_type kind = type == matching_entry_type_t::send ? entry_type::send : entry_type::recv;
  return std::visit([&](auto& entries) { return entries.insert(key, value, kind); }, *values_);
}

size_t matching_engine::waiting() { return receives_.in_use() + unexpected_.in_use(); }

}  // namespace lci::rt
