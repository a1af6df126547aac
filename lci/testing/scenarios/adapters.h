// Adapters of the queues for queue_scenario and the tests of histories: values are numbers.
#ifndef LCI_TESTING_SCENARIOS_ADAPTERS_H_
#define LCI_TESTING_SCENARIOS_ADAPTERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/ds/array_queue.h"
#include "lci/ds/exchange_ring.h"
#include "lci/ds/lcrq.h"
#include "lci/ds/matching_links.h"
#include "lci/ds/owned_ring.h"

namespace lci::ds::explorer {

template <class Queue, size_t Capacity>
struct bounded {
  static constexpr bool pop_may_overlook = true;
  Queue queue{Capacity};
  bool push(uint64_t value) { return queue.try_push(value); }
  bool pop(uint64_t* value) { return queue.try_pop(value); }
};

template <class Queue, size_t RingCapacity>
struct unbounded {
  static constexpr bool pop_may_overlook = false;
  Queue queue{RingCapacity};
  bool push(uint64_t value) { return queue.push(value), true; }
  bool pop(uint64_t* value) { return queue.try_pop(value); }
};

// Pushes by the function for several values where that does it.
template <class Queue, size_t RingCapacity>
struct unbounded_in_runs : unbounded<Queue, RingCapacity> {
  bool push(uint64_t value) {
    if (!this->queue.try_push(&value, 1)) this->queue.push(value);
    return true;
  }
};

// Policy of an lcrq that has SPSC segments each time as soon as one thread has pushed and one has
// popped.
template <template <class, class> class Ring = owned_ring>
struct spsc_immediately {
  static constexpr uint64_t first_rounds = 1;
  static constexpr uint64_t most_rounds = 1;
  template <class T, class Atomics>
  using ring = Ring<T, Atomics>;
};

// A single ring of an lcrq. Slot names are indices of values.
template <class Ring, class Atomics, size_t Capacity, size_t Threads>
class ring_alone {
 public:
  static constexpr bool pop_may_overlook = false;
  ring_alone() : values_(Capacity + Threads) { ring_.open(); }
  bool push(uint64_t value) {
    slot_name& mine = own_[Atomics::thread_number() - 1].slot;
    Atomics::plain_write(&values_[mine], sizeof value);
    values_[mine] = value;
    return ring_.try_push(&mine) == Ring::push_result::ok;
  }
  bool pop(uint64_t* value) {
    slot_name& mine = own_[Atomics::thread_number() - 1].slot;
    if (ring_.try_pop(&mine, [] { return true; }) != Ring::pop_result::ok) return false;
    Atomics::plain_read(&values_[mine], sizeof *value);
    *value = values_[mine];
    return true;
  }

 private:
  struct place {
    slot_name slot;
  };
  slot_name next_slot() { return used_++; }

  size_t used_ = 0;
  std::vector<uint64_t> values_;
  Ring ring_{Capacity, [this] { return next_slot(); }};
  std::vector<place> own_ = [this] {
    std::vector<place> own;
    for (size_t i = 0; i < Threads; ++i) own.push_back({next_slot()});
    return own;
  }();
};

// A matching table with own_links whose insertions try the short ways first.
template <class Table>
class short_ways : public Table {
 public:
  using Table::Table;
  using typename Table::entry_type;

  void* insert(uint64_t key, void* value, entry_type type) {
    return insert(
        key, type, [](const void*) { return true; }, [value] { return value; });
  }
  template <class Same, class Make>
  void* insert(uint64_t key, entry_type type, const Same& same, const Make& make) {
    matching_link* const found = try_take(key, type, same);
    if (found != nullptr) return found;
    auto* const made = static_cast<matching_link*>(make());
    const bool waits = Table::try_wait(key, type, [made] { return made; });
    return waits ? nullptr : Table::insert(key, type, same, [made] { return made; });
  }

 private:
  template <class Same>
  matching_link* try_take(uint64_t key, entry_type type, const Same& same) {
    {
      typename Table::takes mine(*this);
      matching_link* const found = mine.try_take(key, type, same);
      if (found != nullptr) return found;
    }
    return Table::try_take(key, type, same);
  }
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_ADAPTERS_H_
