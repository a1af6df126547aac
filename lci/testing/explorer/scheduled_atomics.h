// The atomics of a structure under test: each operation is a step of the scheduler.
#ifndef LCI_TESTING_EXPLORER_SCHEDULED_ATOMICS_H_
#define LCI_TESTING_EXPLORER_SCHEDULED_ATOMICS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lci/base/strings.h"
#include "lci/testing/explorer/scheduler.h"

namespace lci::ds::explorer {

// An atomic that remembers its last few values, as a thread may read an old value: any value that
// is not older, in the order of this atomic's writes, than one that the thread knows to have been
// written, has read, or knows another thread to have read (C++17, [intro.races]). A release and an
// acquire pass the writer's knowledge to the reader, also through a sequence of read-modify-writes;
// a process barrier makes writes visible without making them known (scheduler.h). Not modeled:
// values of operations from the future (no processor produces them), and the common order of all
// sequentially consistent operations; these read the newest value.
//
// Outside a run, and in its thread 0, this is a plain variable.
template <class U>
class scheduled_atomic {
  static_assert(std::is_trivially_copyable_v<U>, "as in std::atomic");

 public:
  scheduled_atomic() : scheduled_atomic(U()) {}
  scheduled_atomic(U value) {  // NOLINT: as std::atomic's
    newest().value = value;
    if (scheduler* s = scheduler::active()) {
      s->begin_life(this);
      newest().writer = maker_ = s->self();
      newest().write = made_ = s->tick();
    }
  }
  ~scheduled_atomic() {
    if (scheduler* s = scheduler::active()) s->end_life(this);
  }
  scheduled_atomic(const scheduled_atomic&) = delete;
  scheduled_atomic& operator=(const scheduled_atomic&) = delete;

  U load(std::memory_order order = std::memory_order_seq_cst) const {
    scheduler* s = scheduler::active();
    if (s == nullptr) return newest().value;
    begin(s);
    const uint32_t now = s->tick();
    size_t age = 0;
    if (order != std::memory_order_seq_cst) age = s->choose_value(admissible(*s));
    version& v = at(age);
    if (v.first_read.of[s->self()] == 0) v.first_read.of[s->self()] = now;
    if (acquires(order)) s->known().join(v.released);
    return v.value;
  }

  void store(U value, std::memory_order order = std::memory_order_seq_cst) {
    write(value, order, false);
  }

  U exchange(U value, std::memory_order order = std::memory_order_seq_cst) {
    return modify([value](U) { return value; }, order);
  }
  bool compare_exchange_strong(U& expected, U desired, std::memory_order success,
                               std::memory_order failure) {
    scheduler* s = scheduler::active();
    begin(s);
    const version& v = newest();
    if (v.value == expected) {
      if (s != nullptr && acquires(success)) s->known().join(v.released);
      write_now(desired, success, true);
      return true;
    }
    expected = v.value;
    if (s != nullptr && acquires(failure)) s->known().join(v.released);
    return false;
  }
  bool compare_exchange_strong(U& expected, U desired,
                               std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired, order, load_part(order));
  }
  bool compare_exchange_weak(U& expected, U desired, std::memory_order success,
                             std::memory_order failure) {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(U& expected, U desired,
                             std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired, order);
  }
  U fetch_add(U by, std::memory_order order = std::memory_order_seq_cst) {
    return modify([by](U old) { return static_cast<U>(old + by); }, order);
  }
  U fetch_sub(U by, std::memory_order order = std::memory_order_seq_cst) {
    return modify([by](U old) { return static_cast<U>(old - by); }, order);
  }
  U fetch_or(U bits, std::memory_order order = std::memory_order_seq_cst) {
    return modify([bits](U old) { return static_cast<U>(old | bits); }, order);
  }
  U fetch_and(U bits, std::memory_order order = std::memory_order_seq_cst) {
    return modify([bits](U old) { return static_cast<U>(old & bits); }, order);
  }

 private:
  friend class scheduled_wide_atomic;
  static constexpr size_t history = 4;

  struct version {
    U value{};
    size_t writer = 0;
    uint32_t write = 0;       // number of the writer's operation
    knowledge released;       // knowledge that an acquiring reader gets
    vector_clock first_read;  // each thread's first operation that read it; 0: none
  };

  static bool acquires(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
  }
  static bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
  }
  static std::memory_order load_part(std::memory_order order) {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    return order == std::memory_order_release ? std::memory_order_relaxed : order;
  }

  // Called first by every operation.
  void begin(scheduler* s) const {
    if (s == nullptr) return;
    s->step();
    s->check_life(this);
    if (!s->knows(maker_, made_)) {
      s->fail(base::StrCat("data race: thread ", s->self(), " uses an atomic that thread ", maker_,
                           " made, with no order between them"));
    }
  }

  // The version of this age; 0: the newest.
  version& at(size_t age) const { return versions_[(last_ + history - age) % history]; }
  version& newest() const { return at(0); }

  // Number of the newest versions that the thread may read.
  size_t admissible(const scheduler& s) const {
    for (size_t age = 0; age + 1 < count_; ++age) {
      const version& v = at(age);
      if (s.sees(v.writer, v.write)) return age + 1;
      for (size_t t = 0; t < v.first_read.of.size(); ++t) {
        if (v.first_read.of[t] != 0 && s.sees(t, v.first_read.of[t])) return age + 1;
      }
    }
    return count_;
  }

  template <class Change>
  U modify(const Change& change, std::memory_order order) {
    scheduler* s = scheduler::active();
    begin(s);
    const U old = newest().value;
    if (s != nullptr && acquires(order)) s->known().join(newest().released);
    write_now(change(old), order, true);
    return old;
  }

  void write(U value, std::memory_order order, bool modifies) {
    begin(scheduler::active());
    write_now(value, order, modifies);
  }

  // `modifies`: the write continues the release sequence of the previous version.
  void write_now(U value, std::memory_order order, bool modifies) {
    scheduler* s = scheduler::active();
    if (s == nullptr) {
      newest().value = value;
      return;
    }
    version made;
    made.value = value;
    made.writer = s->self();
    made.write = s->tick();
    if (releases(order)) made.released = s->known();
    if (modifies) made.released.join(newest().released);
    last_ = (last_ + 1) % history;
    newest() = made;
    if (count_ < history) ++count_;
    s->changed();
  }

  mutable version versions_[history];
  size_t last_ = 0;
  size_t count_ = 1;
  size_t maker_ = 0;
  uint32_t made_ = 0;  // number of the maker's operation
};

class scheduled_wide_atomic {
 public:
  uint64_t load_first(std::memory_order order) const { return first_.load(order); }
  uint64_t load_second(std::memory_order order) const { return second_.load(order); }
  void store_first(uint64_t value, std::memory_order order) { first_.store(value, order); }
  void store_second(uint64_t value, std::memory_order order) { second_.store(value, order); }

  // One step.
  bool compare_exchange(uint64_t expected_first, uint64_t expected_second, uint64_t desired_first,
                        uint64_t desired_second) {
    scheduler* s = scheduler::active();
    first_.begin(s);
    if (first_.newest().value != expected_first || second_.newest().value != expected_second) {
      return false;
    }
    if (s != nullptr) {
      s->known().join(first_.newest().released);
      s->known().join(second_.newest().released);
    }
    // Both words release the same knowledge: that from before either was written.
    first_.write_now(desired_first, std::memory_order_acq_rel, true);
    second_.write_now(desired_second, std::memory_order_acq_rel, true);
    return true;
  }

 private:
  scheduled_atomic<uint64_t> first_{0};
  scheduled_atomic<uint64_t> second_{0};
};

// A clock for recorder (history.h): a call learns what was known when earlier calls returned, as it
// would from the program's own means of learning about their return. Reading the clock is a step.
class scheduled_clock {
 public:
  uint64_t operator()() {
    scheduler& s = *scheduler::active();
    s.step();
    s.known().join(known_);
    s.tick();
    known_ = s.known();
    return count_++;
  }

 private:
  knowledge known_;
  uint64_t count_ = 0;
};

// See lci/ds/atomics.h.
struct scheduled_atomics {
  template <class U>
  using atomic = scheduled_atomic<U>;
  using wide_atomic = scheduled_wide_atomic;

  class backoff {
   public:
    void idle() { pause(); }
    void reset() {}
  };
  class exponential_backoff {
   public:
    void lost() { pause(); }
  };
  static void pause() {
    if (scheduler* s = scheduler::active()) s->wait();
  }
  static uint32_t thread_number() {
    const scheduler* s = scheduler::active();
    return s == nullptr ? 0 : static_cast<uint32_t>(s->self());
  }
  static uint32_t known_thread_number() { return thread_number(); }
  static bool has_process_barrier() { return true; }
  // In terms of its time, it is never worthwhile.
  static std::chrono::nanoseconds process_barrier() {
    if (scheduler* s = scheduler::active()) s->process_barrier();
    return std::chrono::hours(1);
  }
  static void light_barrier() {
    if (scheduler* s = scheduler::active()) s->light_barrier();
  }
  static void plain_read(const void* address, size_t size) {
    if (scheduler* s = scheduler::active()) s->plain_read(address, size);
  }
  static void plain_write(const void* address, size_t size) {
    if (scheduler* s = scheduler::active()) s->plain_write(address, size);
  }
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_EXPLORER_SCHEDULED_ATOMICS_H_
