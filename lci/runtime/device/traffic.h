// A network that counts what passes through it.
#ifndef LCI_RUNTIME_DEVICE_TRAFFIC_H_
#define LCI_RUNTIME_DEVICE_TRAFFIC_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/api/counters.hpp"
#include "lci/ds/per_thread.h"
#include "lci/net/backend.h"
#include "lci/runtime/device/forwarding_network.h"

namespace lci::rt {

// Counts of one device. Every thread has a place of its own, on which it adds without atomic
// read-modify-write operations; a reader sums the places.
//
// Thread safety: every member by any thread at any time. Wait-free, except for a thread's first
// call and its first operation with a group of ranks, which allocate (std::bad_alloc).
class traffic {
 public:
  explicit traffic(int ranks)
      : pages_((static_cast<size_t>(ranks) + page_ranks - 1) / page_ranks) {}

  // An operation of this rank, by what the network answered.
  void posted(const net::op& operation, error_t result);
  // The bytes of a message, which this rank has read in its sender's memory.
  void got(size_t bytes) { add(&mine().by_kind[rendezvous_get], bytes); }
  // A poll and its completions.
  void polled(const net::completion* found, size_t count, error_t result);

  // Sets the members of *out that are counted here. Completed operations of all threads are in it.
  void read(device_counters_t* out) const;

 private:
  enum kind {
    sent_am,
    sent_tagged,
    sent_large,
    put,
    get,
    rendezvous_put,
    rendezvous_get,
    received_am,
    received_tagged,
    received_large,
    kinds
  };
  enum event {
    control_sent,
    control_received,
    notified,
    refused_lock,
    refused_full,
    refused_fatal,
    poll,
    empty_poll,
    busy_poll,
    events
  };
  struct amount {
    std::atomic<uint64_t> messages{0};
    std::atomic<uint64_t> bytes{0};
  };
  struct peer {
    amount sent;
    amount received;
  };
  // The counters of the messages of one direction.
  struct direction {
    kind am;
    kind tagged;
    kind large;
    event control;
    amount peer::*of_peer;
  };
  static constexpr direction sent = {sent_am, sent_tagged, sent_large, control_sent, &peer::sent};
  static constexpr direction received = {received_am, received_tagged, received_large,
                                         control_received, &peer::received};
  static constexpr size_t page_ranks = 64;
  using page = std::array<peer, page_ranks>;
  // One thread writes to it at a time.
  struct alignas(64) place {
    explicit place(size_t pages) : peers(pages) {}
    ~place() {
      for (std::atomic<page*>& each : peers) delete each.load(std::memory_order_relaxed);
    }
    std::array<amount, kinds> by_kind;
    std::array<std::atomic<uint64_t>, events> by_event{};
    std::vector<std::atomic<page*>> peers;  // null: nothing has been exchanged with these ranks
  };

  place& mine() {
    return places_.mine([this](size_t) { return std::make_unique<place>(pages_); });
  }
  static void add(std::atomic<uint64_t>* to, uint64_t more) {
    to->store(to->load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  static void add(amount* to, uint64_t bytes) {
    add(&to->messages, 1);
    add(&to->bytes, bytes);
  }
  static peer& peer_of(place& own, int rank);
  static void moved(place& own, const direction& way, kind what, int rank, uint64_t bytes);
  // `bytes`: the first `known` ones of a message of `size`.
  static void message(place& own, const direction& way, int rank, net_imm_data_t imm,
                      const void* bytes, size_t known, size_t size);
  static void refused(place& own, error_t result);

  const size_t pages_;
  ds::per_thread<place> places_;
};

// Counts operations and completions. A device that does not count is not wrapped, so counting costs
// nothing where it is off.
class counting_network final : public forwarding_network {
 public:
  counting_network(std::unique_ptr<net::device> network, int ranks)
      : forwarding_network(std::move(network)), traffic_(ranks) {}

  error_t post(const net::op& operation) override;
  error_t post_short(net::short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const net::remote_place* where) override;
  bool read_memory(int rank, void* to, uint64_t from, size_t size) override;
  error_t poll(net::completion* out, size_t max, size_t* count) override;

  const traffic& counted() const { return traffic_; }

 private:
  traffic traffic_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_TRAFFIC_H_
