// The object behind a signal (api/signal.hpp).
#ifndef LCI_RUNTIME_COMPLETION_SIGNAL_H_
#define LCI_RUNTIME_COMPLETION_SIGNAL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lci/net/backend.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/wire.h"

namespace lci::rt {

class rank_state;

// The number that counts. Its lower `event_bits` bits are the events that are missing, the next one
// is set while there were too many, the upper ones are parts of messages (wire.h, addend_of): it is
// 0 when all events have come, and all parts of each.
class event_counter {
 public:
  using word = std::atomic<int64_t>;
  static_assert(sizeof(word) == 8 && word::is_always_lock_free, "peers add to it");

  // `where`: outlives it.
  event_counter(word* where, int64_t num_event, int event_bits)
      : where_(where), num_event_(num_event), event_bits_(event_bits) {
    where_->store(num_event, std::memory_order_relaxed);
  }

  // C1: release, pairs with C2: a thread that sees the sum sees all writes before the addition.
  void add(uint32_t part) {
    where_->fetch_add(addend_of(part, event_bits_), std::memory_order_release);
  }
  int64_t get() const { return where_->load(std::memory_order_acquire); }  // C2
  // False, and then nothing has changed, unless all have come.
  bool reset() {
    int64_t complete = 0;
    return where_->compare_exchange_strong(complete, num_event_, std::memory_order_acq_rel);
  }
  // Makes is_bad() true.
  void spoil() { where_->fetch_or(overflow_bit(), std::memory_order_release); }

  bool is_bad(int64_t value) const { return (value & overflow_bit()) != 0; }
  // Below 0: too many.
  int64_t missing_events(int64_t value) const {
    const int unused = 63 - event_bits_;
    return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
  }
  // Of messages whose first part has come; those that came before it count as -1.
  int64_t missing_parts(int64_t value) const {
    return (value - missing_events(value)) >> (event_bits_ + 1);
  }
  int64_t num_event() const { return num_event_; }
  int event_bits() const { return event_bits_; }

 private:
  int64_t overflow_bit() const { return int64_t{1} << event_bits_; }

  word* const where_;
  const int64_t num_event_;
  const int event_bits_;
};

// Counters in memory that peers can add to, by pages of a network's. A page goes back when none of
// its counters is used any more; none is used twice, so a late addition changes no counter in use.
//
// Thread safety: every member by any thread at any time; they wait for each other, and for the
// network.
class counter_memory {
 public:
  struct place {
    event_counter::word* word = nullptr;
    net::remote_region region;
    uint64_t offset = 0;
    void* page = nullptr;
  };

  explicit counter_memory(net::context& network) : network_(network) {}
  ~counter_memory();
  counter_memory(const counter_memory&) = delete;
  counter_memory& operator=(const counter_memory&) = delete;

  // Nothing in it if the network has no memory.
  place get();
  void put(const place& freed);

 private:
  static constexpr size_t page_size = 4096;
  static constexpr size_t spacing = 64;  // a cache line each
  struct page {
    net::context::allocation memory;
    size_t used = 0;   // counters that have been given
    size_t alive = 0;  // and not put back
  };

  net::context& network_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<page>> pages_;  // guarded by mutex_; the last one may have room
};

// Thread safety: as api/signal.hpp says. signal and arrived are wait-free but for a failure, which
// takes a lock.
class event_signal final : public library_comp {
 public:
  static constexpr attr_comp_type_t type = attr_comp_type_t::signal;
  // Known to `state` by a number from now on.
  event_signal(const comp_attr_t& attributes, rank_state& state, counter_memory* shared);
  ~event_signal() override;

  void signal(status_t status) override;
  void arrived(uint32_t part) { counter_.add(part); }

  // Throw as the interface says, if something has gone wrong. `call`: what the program has called.
  bool test(const char* call) const {
    const int64_t value = counter_.get();
    if (__builtin_expect(value == 0, 1)) return true;
    if (__builtin_expect(counter_.is_bad(value), 0)) report(value, call);
    return false;
  }
  void reset();

  uint32_t number() const { return number_; }
  const event_counter& counter() const { return counter_; }
  // Where peers may add to it; nowhere if `word` is null.
  const counter_memory::place& place() const { return place_; }
  // For people: "signal "halo" of rank 1: 2 of 5 events are missing".
  std::string describe() const;

 private:
  [[noreturn]] void report(int64_t value, const char* call) const;

  rank_state& state_;
  counter_memory* const shared_;  // null: own_
  counter_memory::place place_;
  alignas(64) event_counter::word own_{0};
  event_counter counter_;
  const uint32_t number_;

  mutable std::mutex mutex_;
  bool failed_ = false;  // guarded by mutex_
  int failed_rank_ = 0;  // guarded by mutex_: of the operation
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COMPLETION_SIGNAL_H_
