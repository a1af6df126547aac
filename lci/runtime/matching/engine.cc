#include "lci/runtime/matching/engine.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "lci/base/copy.h"
#include "lci/base/log.h"
#include "lci/observe/clock.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {

using entry_type = ds::matching_type;

namespace {

void* to_value(matching_engine::entry* e) { return static_cast<ds::matching_link*>(e); }
matching_engine::entry* to_entry(void* value) {
  return static_cast<matching_engine::entry*>(static_cast<ds::matching_link*>(value));
}
const matching_engine::entry* to_entry(const void* value) {
  return static_cast<const matching_engine::entry*>(static_cast<const ds::matching_link*>(value));
}

}  // namespace

// A table and a queue.
template <class Variant>
Variant matching_engine::make_entries(attr_matching_engine_type_t type) {
  if (type == attr_matching_engine_type_t::map) return Variant(std::in_place_index<0>);
  return Variant(std::in_place_index<1>);
}

matching_engine::matching_engine(rank_state& state, const matching_engine_attr_t& attributes,
                                 matching_make_key_t make_key)
    : runtime(state.owner),
      attr(attributes),
      state_(state),
      extras_(make_key != nullptr || state.record()
                  ? std::make_unique<const extras>(extras{make_key, state.record()})
                  : nullptr),
      entries_(make_entries<entries_type>(attributes.matching_engine_type)),
      plain_table_(plain_table(&entries_, extras_.get())) {}

ds::linked_matching_table* matching_engine::plain_table(entries_type* entries,
                                                        const extras* extras) {
  return extras == nullptr ? std::get_if<0>(entries) : nullptr;
}

matching_engine::~matching_engine() {
  // Messages that nobody received hold packets.
  if (unexpected_.in_use() == 0) return;
  const auto put_packet = [](uint64_t, void* value, entry_type type) {
    if (type != entry_type::send) return;
    packet* bytes = static_cast<unexpected*>(to_entry(value))->bytes;
    if (bytes != nullptr) bytes->put();
  };
  std::visit([&](auto& entries) { entries.for_each(put_packet); }, entries_);
}

// Equal for equal keys.
[[gnu::always_inline]] inline uint64_t matching_engine::hash(const matching_key& key) {
  switch (key.policy) {
    case matching_policy_t::rank_tag:
      return hash(key.rank, key.tag);
    case matching_policy_t::rank_only:
      return hash(key.rank, 0);
    case matching_policy_t::tag_only:
      return key.tag;
    default:
      return 0;
  }
}

template <class Same, class Make>
[[gnu::always_inline]] inline matching_engine::entry* matching_engine::find_or_wait(
    uint64_t hashed, entry_type type, const Same& same, const Make& make) {
  const auto make_value = [&make] {
    entry* const made = make();
    made->since = observe::coarse_clock::seconds();
    return to_value(made);
  };
  auto* const table = std::get_if<0>(&entries_);
  void* const found = __builtin_expect(table != nullptr, 1)
                          ? table->insert(hashed, type, same, make_value)
                          : std::get<1>(entries_).insert(hashed, type, same, make_value);
  return to_entry(found);
}

// The oldest entry of the other type that matches, taken out; or null, and what make() returns
// waits.
template <class Make>
[[gnu::always_inline]] inline matching_engine::entry* matching_engine::find_or_wait(
    const matching_key& key, entry_type type, const Make& make) {
  if (__builtin_expect(extras_ != nullptr, 0)) return find_or_wait_with_extras(key, type, make);
  return find_or_wait(
      hash(key), type, [&key](const void* value) { return to_entry(value)->key == key; }, make);
}

template <class Make>
[[gnu::noinline]] matching_engine::entry* matching_engine::find_or_wait_with_extras(
    const matching_key& key, entry_type type, const Make& make) {
  const matching_make_key_t make_key = extras_->make_key;
  const auto same = [make_key, &key](const void* value) {
    const matching_key& other = to_entry(value)->key;
    // The program's own keys say all.
    return (make_key != nullptr && !key.collective && !other.collective) || other == key;
  };
  const uint64_t hashed =
      make_key != nullptr && !key.collective ? make_key(key.rank, key.tag, key.policy) : hash(key);
  // A copy: what waits may be over, and `key` with it, as soon as others can find it.
  const matching_key recorded = key;
  entry* const found = find_or_wait(hashed, type, same, make);
  if (extras_->record) record(recorded, type, found != nullptr);
  return found;
}

void matching_engine::record(const matching_key& key, entry_type type, bool found) const {
  using observe::event;
  using observe::event_kind;
  const bool is_receive = type == entry_type::recv;
  event made = observe::event_sink::moment(
      is_receive ? (found ? event_kind::matched_receive : event_kind::receive)
                 : (found ? event_kind::matched_arrival : event_kind::unexpected));
  made.peer = is_receive && !key.has_rank() ? event::no_peer : key.rank;
  made.tag = key.tag;
  if (is_receive && !key.has_tag()) made.flags |= event::any_tag;
  if (key.collective) made.flags |= event::of_library;
  made.detail = id;
  extras_->record.add(made);
}

error_t matching_engine::post_recv(const operation& incoming, status_t* status) {
  receive* posted = make_receive();
  posted->key = incoming.key(incoming.rank);
  posted->buffer = incoming.buffer;
  posted->size = incoming.size;
  posted->comp = incoming.comp;
  posted->user_context = incoming.user_context;
  posted->local = incoming.local;
  posted->local_offset = incoming.local_offset;
  return post_recv(posted, status);
}

error_t matching_engine::post_recv(receive* posted, status_t* status) {
  // As soon as it waits it may be over.
  const int rank = posted->key.rank;
  const bool collective = posted->key.collective;
  entry* match;
  try {
    match = find_or_wait(posted->key, entry_type::recv, [posted] { return posted; });
  } catch (...) {
    receives_.recycle(posted);
    throw;
  }
  if (__builtin_expect(match == nullptr, 1)) {
    if (__builtin_expect(state_.any_failed(), 0)) look_for_lost(rank, collective);
    return errorcode_t::posted;
  }
  return take(posted, static_cast<unexpected*>(match), status);
}

// After a receive waits: the rank may have failed before the receive was there to be found.
[[gnu::noinline, gnu::cold]] void matching_engine::look_for_lost(int rank, bool collective) {
  if (rank < 0) return;
  if (collective) {
    const int failed = first_failed();
    if (failed >= 0) fail_peer(failed);
  }
  if (state_.has_failed(rank)) fail_peer(rank);
}

// Completes a receive with a message that has arrived before it.
error_t matching_engine::take(receive* posted, unexpected* found, status_t* status) {
  const unexpected arrived = *found;
  unexpected_.recycle(found);
  const receive incoming = *posted;
  receives_.recycle(posted);
  if (!arrived.eager) {
    accept(*arrived.conversations, incoming, arrived.announced);
    return errorcode_t::posted;
  }
  const announcement& message = arrived.announced;
  const bool fits = message.size <= incoming.size;
  if (arrived.bytes != nullptr) {
    if (fits) base::copy_data(incoming.buffer, arrived.bytes->payload(), message.size);
    arrived.bytes->put();
  }
  if (!fits) {
    incoming.signal(refuse(incoming, message.rank, message.tag, message.size));
    return errorcode_t::posted;
  }
  *status = incoming.status(errorcode_t::done, message.rank, message.tag, message.size);
  return errorcode_t::done;
}

// A message is longer than its receive. Returns the status with which that is over.
[[gnu::noinline, gnu::cold]] status_t matching_engine::refuse(const receive& incoming, int rank,
                                                              tag_t tag, size_t size) {
  LCI_LOG(error, "rank ", rank, " sent ", size, " bytes to a receive of ", incoming.size);
  return incoming.status(errorcode_t::fatal, rank, tag, incoming.size);
}

void matching_engine::on_eager(packet_pool_impl_t& packets, const matching_key& key,
                               const void* bytes, size_t size) {
  entry* match =
      find_or_wait(key, entry_type::send, [&] { return keep(packets, key, bytes, size); });
  if (match == nullptr) return;
  deliver(static_cast<receive*>(match), key.rank, key.tag, bytes, size);
}

// Whether a waiting receive is for such a message.
[[gnu::always_inline]] inline bool matching_engine::is_for(const void* waiting, int rank,
                                                           tag_t tag) {
  return to_entry(waiting)->key == matching_key{tag, rank, matching_policy_t::rank_tag, false};
}

void matching_engine::on_eager(packet_pool_impl_t& packets, int rank, tag_t tag, const void* bytes,
                               size_t size) {
  if (__builtin_expect(plain_table_ != nullptr, 1)) {
    ds::matching_link* const found =
        plain_table_->try_take(hash(rank, tag), entry_type::send,
                               [rank, tag](const void* value) { return is_for(value, rank, tag); });
    if (__builtin_expect(found != nullptr, 1)) {
      return deliver(static_cast<receive*>(to_entry(found)), rank, tag, bytes, size);
    }
  }
  on_eager(packets, {tag, rank, matching_policy_t::rank_tag, false}, bytes, size);
}

size_t matching_engine::on_eager(const net::completion* messages, size_t count,
                                 std::exception_ptr* failure) {
  receive* found[most_at_once];
  comp_impl_t* comps[most_at_once];
  // Not initialized.
  alignas(status_t) unsigned char storage[most_at_once * sizeof(status_t)];
  auto* const statuses = reinterpret_cast<status_t*>(storage);
  const size_t taken = take_receives(messages, std::min(count, most_at_once), found);
  for (size_t i = 0; i < taken; ++i) {
    const net::completion& message = messages[i];
    comps[i] = found[i]->comp;
    new (&statuses[i]) status_t(
        copy_in(*found[i], message.rank, short_tag(message.imm), message.bytes(), message.size));
  }
  receives_.recycle(found, taken);
  for (size_t next = 0; next < taken;) {
    const size_t begin = next;
    while (next < taken && comps[next] == comps[begin]) ++next;
    if (comps[begin] != nullptr) {
      signal_each(*comps[begin], &statuses[begin], next - begin, failure);
    }
  }
  return taken;
}

// Takes the receives of these messages out of the table, up to the first message whose receive is
// not found by the short way. Returns how many.
[[gnu::always_inline]] inline size_t matching_engine::take_receives(const net::completion* messages,
                                                                    size_t count, receive** found) {
  if (__builtin_expect(plain_table_ == nullptr, 0)) return 0;
  ds::linked_matching_table::takes mine(*plain_table_);
  size_t taken = 0;
  for (; taken < count && is_short_message(messages[taken]); ++taken) {
    const int rank = messages[taken].rank;
    const tag_t tag = short_tag(messages[taken].imm);
    ds::matching_link* const link =
        mine.try_take(hash(rank, tag), entry_type::send,
                      [rank, tag](const void* value) { return is_for(value, rank, tag); });
    if (link == nullptr) break;
    found[taken] = static_cast<receive*>(to_entry(link));
  }
  return taken;
}

// Copies a message to the buffer of its receive, if it fits. Returns the status of the receive.
[[gnu::always_inline]] inline status_t matching_engine::copy_in(const receive& incoming, int rank,
                                                                tag_t tag, const void* bytes,
                                                                size_t size) {
  if (__builtin_expect(size > incoming.size, 0)) return refuse(incoming, rank, tag, size);
  base::copy_bytes(incoming.buffer, bytes, size);
  return make_status(errorcode_t::done, rank, incoming.buffer, size, tag, incoming.user_context);
}

[[gnu::always_inline]] inline void matching_engine::deliver(receive* waiting, int rank, tag_t tag,
                                                            const void* bytes, size_t size) {
  comp_impl_t* const comp = waiting->comp;
  const status_t status = copy_in(*waiting, rank, tag, bytes, size);
  receives_.recycle(waiting);
  if (comp != nullptr) comp->signal(status);
}

// An eager message that nobody waits for. The bytes are lent only for the length of this call.
[[gnu::noinline]] matching_engine::unexpected* matching_engine::keep(packet_pool_impl_t& packets,
                                                                     const matching_key& key,
                                                                     const void* bytes,
                                                                     size_t size) {
  unexpected* arrived = unexpected_.make();
  arrived->bytes = nullptr;
  if (size > 0) {
    try {
      arrived->bytes = packets.get_for(size);
    } catch (...) {
      unexpected_.recycle(arrived);
      throw;
    }
    base::copy_data(arrived->bytes->payload(), bytes, size);
  }
  arrived->key = key;
  arrived->announced.rank = key.rank;
  arrived->announced.tag = key.tag;
  arrived->announced.size = size;
  arrived->eager = true;
  count_unexpected(size);
  return arrived;
}

void matching_engine::count_unexpected(size_t size) {
  unexpected_count_.fetch_add(1, std::memory_order_relaxed);
  unexpected_bytes_.fetch_add(size, std::memory_order_relaxed);
}

void matching_engine::on_announced(rendezvous& conversations, const announcement& announced) {
  const matching_key key = announced.key();
  entry* match = find_or_wait(key, entry_type::send, [&] {
    unexpected* arrived = unexpected_.make();
    arrived->key = key;
    arrived->conversations = &conversations;
    arrived->announced = announced;
    arrived->bytes = announced.is_open() ? conversations.take_early(announced) : nullptr;
    arrived->eager = arrived->bytes != nullptr;
    count_unexpected(announced.size);
    return arrived;
  });
  if (match == nullptr) return;
  auto* waiting = static_cast<receive*>(match);
  const receive incoming = *waiting;
  receives_.recycle(waiting);
  accept(conversations, incoming, announced);
}

void matching_engine::accept(rendezvous& conversations, const receive& incoming,
                             const announcement& announced) {
  if (announced.size > incoming.size) {
    conversations.reject(announced);
    incoming.signal(refuse(incoming, announced.rank, announced.tag, announced.size));
    return;
  }
  operation received;
  received.rank = announced.rank;
  received.tag = announced.tag;
  received.policy = incoming.key.policy;
  received.collective = incoming.key.collective;
  received.engine = this;
  received.buffer = incoming.buffer;
  received.size = announced.size;
  received.comp = incoming.comp;
  received.user_context = incoming.user_context;
  received.local = incoming.local;
  received.local_offset = incoming.local_offset;
  conversations.accept(announced, received);
}

void matching_engine::fail_peer(int rank) {
  const bool ends_collectives = group == nullptr || group->place_of(rank) >= 0;
  // Those taken out, chained: nothing here can fail.
  ds::matching_link* failed = nullptr;
  ds::matching_link** end = &failed;
  const auto take_if_hopeless = [&](void* value, entry_type type) {
    if (type != entry_type::recv) return false;
    const matching_key& key = to_entry(value)->key;
    if (key.collective) {
      if (!ends_collectives) return false;
    } else if (!key.has_rank() || key.rank != rank) {
      return false;
    }
    *end = static_cast<ds::matching_link*>(value);
    (*end)->next = nullptr;
    end = &(*end)->next;
    return true;
  };
  std::visit([&](auto& entries) { entries.remove_if(take_if_hopeless); }, entries_);
  while (failed != nullptr) {
    auto* const waiting = static_cast<receive*>(failed);
    failed = failed->next;
    const receive incoming = *waiting;
    receives_.recycle(waiting);
    incoming.signal(
        incoming.status(errorcode_t::fatal, incoming.key.rank, incoming.key.tag, incoming.size));
  }
}

void* matching_engine::insert(uint64_t key, void* value, matching_entry_type_t type) {
  std::call_once(values_once_, [this] {
    values_.reset(new values_type(make_entries<values_type>(attr.matching_engine_type)));
  });
  const entry_type kind = type == matching_entry_type_t::send ? entry_type::send : entry_type::recv;
  return std::visit([&](auto& entries) { return entries.insert(key, value, kind); }, *values_);
}

namespace {
const char* name_of(matching_policy_t policy) {
  static constexpr const char* names[] = {"none", "rank_only", "tag_only", "rank_tag"};
  static_assert(std::size(names) == static_cast<size_t>(matching_policy_t::max));
  return policy < matching_policy_t::max ? names[static_cast<size_t>(policy)] : "?";
}
}  // namespace

void matching_engine::describe(observe::rank_report* report) {
  using entry_report = observe::rank_report::message;
  const uint64_t last = collectives_.load(std::memory_order_relaxed);
  if (last > 0) {
    // Not there yet, for a moment, after the number has been given.
    const char* const kind =
        collective_kinds_[(last - 1) % kinds_kept].load(std::memory_order_relaxed);
    add_entry(report, &report->engines,
              observe::rank_report::collectives{id, last, kind == nullptr ? "?" : kind});
  }
  if (waiting() == 0) return;
  const uint32_t now = observe::coarse_clock::seconds();
  const auto add = [&](uint64_t, void* value, entry_type type) {
    const entry& each = *to_entry(value);
    entry_report described;
    described.engine = id;
    // The last number of a collective operation that its messages are of, counted from 1.
    if (each.key.collective) {
      described.collective = (each.key.tag >> 32) + 1;
      report->has_unknown_objects = true;
    }
    described.count = 1;
    described.seconds = now - std::min(now, each.since);
    if (type == entry_type::recv) {
      const auto& posted = static_cast<const receive&>(each);
      described.what = entry_report::kind::receive;
      described.peer = each.key.has_rank() ? each.key.rank : observe::rank_report::any_rank;
      described.any_tag = !each.key.has_tag();
      described.tag = each.key.tag;
      described.size = posted.size;
      described.policy = name_of(each.key.policy);
      report->named_objects.insert(posted.comp);
    } else {
      const auto& arrived = static_cast<const unexpected&>(each);
      described.what = arrived.eager ? entry_report::kind::arrived : entry_report::kind::announced;
      described.peer = arrived.announced.rank;
      described.tag = arrived.announced.tag;
      described.size = arrived.announced.size;
      described.policy = name_of(each.key.policy);
    }
    observe::add_message(report, described);
  };
  std::visit([&add](auto& entries) { entries.for_each(add); }, entries_);
}

void matching_engine::read(matching_engine_counters_t* out) const {
  out->id = id;
  out->unexpected = unexpected_count_.load(std::memory_order_relaxed);
  out->unexpected_bytes = unexpected_bytes_.load(std::memory_order_relaxed);
}

size_t matching_engine::waiting_receives() { return receives_.in_use(); }

size_t matching_engine::waiting() { return receives_.in_use() + unexpected_.in_use(); }

}  // namespace lci::rt
