// Sends and receives that find each other (SC'25 paper, sections 4.3.2 and 5.1.3): in any order
// across keys, oldest first for one key.
#ifndef LCI_RUNTIME_MATCHING_ENGINE_H_
#define LCI_RUNTIME_MATCHING_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <variant>

#include "lci/api/attr.hpp"
#include "lci/api/counters.hpp"
#include "lci/api/types.hpp"
#include "lci/ds/matching_queue.h"
#include "lci/ds/matching_table.h"
#include "lci/ds/matching_type.h"
#include "lci/ds/object_pool.h"
#include "lci/net/op.h"
#include "lci/observe/clock.h"
#include "lci/observe/recorder.h"
#include "lci/observe/subject.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/core/rank_group.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/operation.h"
#include "lci/runtime/protocol/rendezvous.h"

namespace lci {

class packet_pool_impl_t;
class runtime_impl_t;

namespace rt {

// Thread safety: every member by any thread at any time, construction and destruction excepted.
class matching_engine : public live_object {
 public:
  matching_engine(rank_state& state, const matching_engine_attr_t& attributes,
                  matching_make_key_t make_key);
  ~matching_engine();
  matching_engine(const matching_engine&) = delete;
  matching_engine& operator=(const matching_engine&) = delete;

  // An entry of the table: a receive, or a message that has none yet.
  struct entry : ds::matching_link {
    matching_key key;
    uint32_t since = 0;  // when it began to wait, by observe::coarse_clock
  };
  struct receive : entry {
    void* buffer = nullptr;
    size_t size = 0;              // bytes: the most it can take
    comp_impl_t* comp = nullptr;  // null: nobody asks
    void* user_context = nullptr;
    net::local_region local;  // as of a message
    uint64_t local_offset = 0;

    status_t status(errorcode_t code, int rank, tag_t tag, size_t bytes) const {
      return make_status(code, rank, buffer, bytes, tag, user_context);
    }
    void signal(const status_t& ended) const {
      if (comp != nullptr) comp->signal(ended);
    }
  };

  // The short way of a receive by rank and tag into memory that is not registered: whether it waits
  // now, as post_recv answers `posted`. False: nothing has happened, and post_recv is to be called.
  bool try_post_recv(int rank, tag_t tag, void* buffer, size_t size, comp_impl_t* comp,
                     void* user_context);
  // Begins a receive, whose members the caller then sets, all of them, for post_recv, which must
  // follow. Throws std::bad_alloc.
  receive* make_receive() { return receives_.make(); }

  // Posts a receive. The engine takes the receive in all cases.
  //   done    a message that was here already has been copied to its buffer: *status says which
  //   posted  its comp will be signaled, possibly before the call returns: with the message's
  //           rank, tag and size; with `fatal` if that is more than the receive's size, or the peer
  //           has failed
  // Throws std::bad_alloc, having done nothing.
  error_t post_recv(receive* posted, status_t* status);
  // The same of a message.
  error_t post_recv(const operation& incoming, status_t* status);

  // An eager message has arrived, whose bytes are read before the call returns. If it has to wait
  // for its receive, they are copied to a packet of `packets`.
  void on_eager(packet_pool_impl_t& packets, const matching_key& key, const void* bytes,
                size_t size);
  // The same of the default policy, by a shorter way.
  void on_eager(packet_pool_impl_t& packets, int rank, tag_t tag, const void* bytes, size_t size);
  // The same of several such messages, with less work for each: of the first of these completions
  // that are short tagged messages whose receives wait. Returns how many, which may be 0: the next
  // one is left to the function above. The first exception that a completion object throws is
  // stored in *failure, unless one is there.
  size_t on_eager(const net::completion* messages, size_t count, std::exception_ptr* failure);
  // Whether the completion is a message for the two functions above, of the default engine.
  static bool is_short_message(const net::completion& completion) {
    return completion.kind == net::completion_kind::recv && is_short_tagged(completion.imm);
  }
  // A message has been announced, and will be accepted or rejected through `conversations`.
  void on_announced(rendezvous& conversations, const announcement& announced);

  // Ends the receives that only a message of this rank could have matched, and those of
  // collectives that need this rank.
  void fail_peer(int rank);

  // The table or queue by itself: see matching_engine_insert.
  void* insert(uint64_t key, void* value, matching_entry_type_t type);

  // The number of the next collective operation that uses this engine: equal on all ranks that call
  // them in the same order. The program orders these calls, so no locked instruction is needed.
  // `kind`: its name, a literal, for reports.
  uint64_t next_collective(const char* kind) {
    const uint64_t number = collectives_.load(std::memory_order_relaxed);
    collectives_.store(number + 1, std::memory_order_relaxed);
    collective_kinds_[number % kinds_kept].store(kind, std::memory_order_relaxed);
    return number;
  }

  // For the observer's thread, as of observe::subject.
  void describe(observe::rank_report* report);

  // Sets the members of *out.
  void read(matching_engine_counters_t* out) const;

  // Entries that wait, and those of them that are receives. Counts them: not for fast paths.
  size_t waiting();
  size_t waiting_receives();

  runtime_impl_t& runtime;
  const matching_engine_attr_t attr;
  uint32_t id = 0;                    // how other ranks name it
  const rank_group* group = nullptr;  // whose operations it serves; null: of all ranks

 private:
  // A message that is here, or announced, and has no receive yet.
  struct unexpected : entry {
    rendezvous* conversations = nullptr;  // of the device that it was announced on
    announcement announced;
    packet* bytes = nullptr;  // of an eager message; null if its size is 0
    bool eager = false;
  };

  // Messages whose receives are taken out together.
  static constexpr size_t most_at_once = 16;

  // By the attribute matching_engine_type.
  using entries_type = std::variant<ds::linked_matching_table, ds::matching_queue>;
  using values_type = std::variant<ds::matching_table, ds::matching_queue>;
  template <class Variant>
  static Variant make_entries(attr_matching_engine_type_t type);

  // Features that few engines have, kept away from the path of the others.
  struct extras {
    matching_make_key_t make_key;  // null: by the fields of the key
    observe::event_sink record;
  };

  // The table, if nothing but equal keys matters.
  static ds::linked_matching_table* plain_table(entries_type* entries, const extras* extras);

  static uint64_t hash(int rank, tag_t tag) {
    return tag + static_cast<uint64_t>(rank + 1) * 0xc2b2ae3d27d4eb4f;
  }
  static uint64_t hash(const matching_key& key);
  template <class Same, class Make>
  entry* find_or_wait(uint64_t hashed, ds::matching_type type, const Same& same, const Make& make);
  template <class Make>
  entry* find_or_wait_with_extras(const matching_key& key, ds::matching_type type,
                                  const Make& make);
  void record(const matching_key& key, ds::matching_type type, bool found) const;
  template <class Make>
  entry* find_or_wait(const matching_key& key, ds::matching_type type, const Make& make);
  void look_for_lost(int rank, bool collective);
  error_t take(receive* posted, unexpected* found, status_t* status);
  static bool is_for(const void* waiting, int rank, tag_t tag);
  size_t take_receives(const net::completion* messages, size_t count, receive** found);
  void deliver(receive* waiting, int rank, tag_t tag, const void* bytes, size_t size);
  void count_unexpected(size_t size);
  unexpected* keep(packet_pool_impl_t& packets, const matching_key& key, const void* bytes,
                   size_t size);
  void accept(rendezvous& conversations, const receive& incoming, const announcement& announced);
  status_t refuse(const receive& incoming, int rank, tag_t tag, size_t size);
  status_t copy_in(const receive& incoming, int rank, tag_t tag, const void* bytes, size_t size);

  // A rank whose loss ends the collectives that use this engine; -1: none.
  int first_failed() const {
    return group == nullptr ? state_.first_failed() : group->first_failed();
  }

  rank_state& state_;
  const std::unique_ptr<const extras> extras_;  // null: none
  entries_type entries_;  // values: matching_link* of entries from the pools below
  ds::linked_matching_table* const plain_table_;  // null: not the short ways
  ds::object_pool<receive> receives_;
  ds::object_pool<unexpected> unexpected_;

  // Those of the last collective operations, by number.
  static constexpr uint32_t kinds_kept = 16;
  std::atomic<uint64_t> collectives_{0};
  std::atomic<const char*> collective_kinds_[kinds_kept] = {};

  std::once_flag values_once_;
  std::unique_ptr<values_type> values_;  // of insert(key, value, type)

  // Messages that had to wait for their receive, and their bytes.
  std::atomic<uint64_t> unexpected_count_{0};
  std::atomic<uint64_t> unexpected_bytes_{0};

  const observe::listed<matching_engine> listed_{this};
};

// Here, without a call.
[[gnu::always_inline]] inline bool matching_engine::try_post_recv(int rank, tag_t tag, void* buffer,
                                                                  size_t size, comp_impl_t* comp,
                                                                  void* user_context) {
  if (__builtin_expect(plain_table_ == nullptr, 0)) return false;
  const auto try_make = [&]() -> ds::matching_link* {
    receive* const made = receives_.try_make();
    if (__builtin_expect(made == nullptr, 0)) return nullptr;
    made->key = {tag, rank, matching_policy_t::rank_tag, false};
    made->since = observe::coarse_clock::seconds();
    made->buffer = buffer;
    made->size = size;
    made->comp = comp;
    made->user_context = user_context;
    made->local = net::local_region();
    made->local_offset = 0;
    return made;
  };
  const bool waits = plain_table_->try_wait(hash(rank, tag), ds::matching_type::recv, try_make);
  if (__builtin_expect(waits && state_.any_failed(), 0)) look_for_lost(rank, false);
  return waits;
}

}  // namespace rt

// The object behind a matching_engine_t.
class matching_engine_impl_t : public rt::matching_engine {
 public:
  using matching_engine::matching_engine;
};

}  // namespace lci

#endif  // LCI_RUNTIME_MATCHING_ENGINE_H_
