// Scenarios: uses of the structures under the explorer.
#ifndef LCI_TESTING_SCENARIOS_SCENARIOS_H_
#define LCI_TESTING_SCENARIOS_SCENARIOS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lci/base/strings.h"
#include "lci/ds/matching_links.h"
#include "lci/ds/spinlock.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"
#include "lci/testing/linearizability/history.h"
#include "lci/testing/linearizability/linearizable.h"
#include "lci/testing/linearizability/specifications.h"

namespace lci::ds::explorer {

// Each thread performs the steps of its script: '+' pushes a number that no other step pushes, '-'
// tries to pop. Queue has push(uint64_t) -> bool and pop(uint64_t*) -> bool.
// Queue::pop_may_overlook says whether a pop may find nothing while another thread pushes.
template <class Queue>
class queue_scenario : public scenario {
 public:
  queue_scenario(std::vector<std::string> scripts, size_t capacity)
      : scripts_(std::move(scripts)), capacity_(capacity), log_(scripts_.size()) {}

  size_t threads() const override { return scripts_.size(); }
  void run(size_t number) override {
    uint64_t pushed = 100 * (number + 1);
    for (const char step : scripts_[number]) {
      log_.record(number, [&] {
        if (step == '+') {
          ++pushed;
          return transfer::push(pushed, queue_.push(pushed));
        }
        uint64_t value = 0;
        return queue_.pop(&value) ? transfer::pop(value) : transfer::pop_nothing();
      });
    }
  }
  std::string finish() override {
    history<transfer> calls = log_.take();
    if (Queue::pop_may_overlook) {
      calls = without_excused(
          calls, [](const transfer& t) { return t.is_refused_pop(); },
          [](const transfer& t) { return t.is_push(); });
    }
    return check_linearizable(queue_specification(capacity_), calls).explanation;
  }

 private:
  const std::vector<std::string> scripts_;
  const size_t capacity_;
  Queue queue_;
  recorder<transfer, scheduled_clock> log_;
};

// Each thread but the last one pushes some values, and the last one pops all of them, and then
// destroys the queue, which a push may not use any more.
template <class Queue>
class ending_scenario : public scenario {
 public:
  ending_scenario(size_t pushers, size_t values) : pushers_(pushers), values_(values) {}

  size_t threads() const override { return pushers_ + 1; }
  void run(size_t number) override {
    if (number < pushers_) {
      for (size_t i = 1; i <= values_; ++i) queue_->push(i);
      return;
    }
    for (size_t left = pushers_ * values_; left > 0;) {
      uint64_t value = 0;
      if (queue_->pop(&value)) {
        --left;
      } else {
        scheduled_atomics::pause();
      }
    }
    queue_.reset();
  }
  std::string finish() override { return queue_ == nullptr ? "" : "the queue was not emptied"; }

 private:
  const size_t pushers_;
  const size_t values_;
  std::unique_ptr<Queue> queue_ = std::make_unique<Queue>();
};

// Inserts into a matching structure: 's' a send, 'r' a receive, all with one key. The memory that a
// matched value points to must be visible. (The value may belong to a table with own_links.)
template <class Matching>
class matching_scenario : public scenario {
 public:
  explicit matching_scenario(std::vector<std::string> scripts)
      : scripts_(std::move(scripts)), log_(scripts_.size()) {}

  size_t threads() const override { return scripts_.size(); }
  void run(size_t number) override {
    for (size_t i = 0; i < scripts_[number].size(); ++i) {
      const bool is_send = scripts_[number][i] == 's';
      payload& mine = payloads_[number][i];
      log_.record(number, [&] {
        scheduled_atomics::plain_write(&mine.number, sizeof mine.number);
        mine.number = 10 * (number + 1) + i;
        void* found =
            matching_.insert(7, static_cast<matching_link*>(&mine),
                             is_send ? Matching::entry_type::send : Matching::entry_type::recv);
        uint64_t matched = 0;
        if (found != nullptr) {
          const auto* theirs = static_cast<payload*>(static_cast<matching_link*>(found));
          scheduled_atomics::plain_read(&theirs->number, sizeof theirs->number);
          matched = theirs->number;
        }
        return insertion{7, is_send, 10 * (number + 1) + i, matched};
      });
    }
  }
  std::string finish() override {
    return check_linearizable(matching_specification(), log_.take()).explanation;
  }

 private:
  const std::vector<std::string> scripts_;
  struct payload : matching_link {
    uint64_t number;
  };
  std::array<std::array<payload, 8>, max_threads> payloads_{};
  Matching matching_;
  recorder<insertion, scheduled_clock> log_;
};

// Each thread adds one to a number under a lock.
template <class Lock>
class lock_scenario : public scenario {
 public:
  explicit lock_scenario(size_t threads) : threads_(threads) {}
  size_t threads() const override { return threads_; }
  void run(size_t number) override {
    if (number == 0) {
      // One thread uses try_lock.
      while (!lock_.try_lock()) scheduled_atomics::pause();
      add();
      lock_.unlock();
      return;
    }
    const std::lock_guard<Lock> guard(lock_);
    add();
  }
  std::string finish() override {
    return count_ == threads_ ? "" : base::StrCat(count_, " additions of ", threads_);
  }

 private:
  void add() {
    scheduled_atomics::plain_read(&count_, sizeof count_);
    const size_t seen = count_;
    scheduled_atomics::plain_write(&count_, sizeof count_);
    count_ = seen + 1;
  }

  const size_t threads_;
  Lock lock_;
  size_t count_ = 0;
};

// Each thread writes its number in each round, and the last one of the round adds all of them up.
// Barrier is a basic_thread_barrier.
template <class Barrier>
class barrier_scenario : public scenario {
 public:
  // `breaks`: a thread more, which breaks the barrier off at some time.
  barrier_scenario(size_t threads, bool breaks)
      : threads_(threads), breaks_(breaks), numbers_(threads), barrier_(threads) {}
  size_t threads() const override { return threads_ + (breaks_ ? 1 : 0); }
  void run(size_t number) override {
    if (number == threads_) return barrier_.break_off();
    for (size_t round = 1; round <= rounds; ++round) {
      scheduled_atomics::plain_write(&numbers_[number], sizeof(size_t));
      numbers_[number] = round;
      const auto came = barrier_.arrive();
      if (came.round == 0) return;
      if (came.is_last) {
        sum_ = add();
        barrier_.open(came.round);
      }
      while (!barrier_.is_open(came.round)) {
        if (barrier_.is_broken(came.round)) return;
        scheduled_atomics::pause();
      }
      scheduled_atomics::plain_read(&sum_, sizeof sum_);
      if (came.round != round || sum_ != round * threads_) is_wrong_ = true;
      ++passed_[round - 1];
    }
  }
  std::string finish() override {
    if (is_wrong_) return "a thread passed before all had arrived";
    if (!barrier_.is_idle()) return "not idle in the end";
    for (const std::atomic<size_t>& each : passed_) {
      if (each != threads_ && !(breaks_ && each == 0)) return "some threads passed, and some not";
    }
    return "";
  }

 private:
  static constexpr size_t rounds = 2;

  size_t add() {
    size_t sum = 0;
    for (const size_t& each : numbers_) {
      scheduled_atomics::plain_read(&each, sizeof each);
      sum += each;
    }
    scheduled_atomics::plain_write(&sum_, sizeof sum_);
    return sum;
  }

  const size_t threads_;
  const bool breaks_;
  std::vector<size_t> numbers_;
  size_t sum_ = 0;
  Barrier barrier_;
  std::atomic<bool> is_wrong_{false};
  std::array<std::atomic<size_t>, rounds> passed_{};
};

// Threads use a number under a lock that has try_lock only. Each thread does so as often as its
// entry in `sections` says, or less often if it gave up. Lock is a basic_biased_lock.
template <class Lock>
class biased_lock_scenario : public scenario {
 public:
  // `owned`: the thread that makes the scenario, and is none of its threads, owns the lock at
  // first.
  explicit biased_lock_scenario(std::vector<size_t> sections, bool owned = false)
      : sections_(std::move(sections)) {
    while (owned && !lock_.is_mine()) enter();
  }
  size_t threads() const override { return sections_.size(); }
  void run(size_t number) override {
    for (size_t i = 0; i < sections_[number]; ++i) {
      if (i % 2 == 0 || !enter_as_owner()) enter();
    }
  }
  std::string finish() override {
    if (together_) return "two threads had the lock at once";
    if (count_ != entered_) return base::StrCat(count_, " additions of ", entered_);
    if (!lock_.try_lock()) return "the lock is held, though all have left";
    lock_.unlock();
    return "";
  }

 private:
  // An attempt may fail because of another attempt that fails, so two waiting threads could keep
  // each other waiting for as long as the schedule allows.
  static constexpr int attempts = 4;

  void enter() {
    for (int i = 0; !lock_.try_lock(); scheduled_atomics::pause()) {
      if (++i == attempts) return;
    }
    section();
    lock_.unlock();
  }

  bool enter_as_owner() {
    const typename Lock::owner_guard guard(lock_);
    if (!guard) return false;
    section();
    return true;
  }

  void section() {
    ++entered_;
    // Two steps, so that other threads may run in between.
    if (inside_.fetch_add(1, std::memory_order_relaxed) != 0) together_ = true;
    scheduled_atomics::plain_read(&count_, sizeof count_);
    const size_t seen = count_;
    scheduled_atomics::plain_write(&count_, sizeof count_);
    count_ = seen + 1;
    inside_.fetch_sub(1, std::memory_order_relaxed);
  }

  const std::vector<size_t> sections_;
  Lock lock_;
  scheduled_atomic<int> inside_{0};
  bool together_ = false;
  size_t count_ = 0;
  size_t entered_ = 0;
};

// Threads use numbers under two locks that the owner of a bypass does not take. Each thread does so
// `sections` times, with the locks in turns. `together`: the owner enters once for several uses.
template <class Bypass>
class bypass_scenario : public scenario {
 public:
  bypass_scenario(size_t threads, size_t sections, bool together = false)
      : threads_(threads), sections_(sections), together_(together) {}
  size_t threads() const override { return threads_; }
  void run(size_t number) override {
    for (size_t i = 0; i < sections_; ++i) {
      if (together_) i += use_as_owner(number + i, sections_ - i);
      if (i < sections_) use(&places_[(number + i) % 2]);
    }
  }
  std::string finish() override {
    const size_t sum = places_[0].number + places_[1].number;
    return sum == threads_ * sections_ ? "" : base::StrCat(sum, " additions");
  }

 private:
  struct place {
    basic_spinlock<scheduled_atomics> lock;
    size_t number = 0;

    void add() {
      scheduled_atomics::plain_read(&number, sizeof number);
      scheduled_atomics::plain_write(&number, sizeof number);
      ++number;
    }
  };

  void use(place* used) {
    {
      const typename Bypass::try_section mine(bypass_, used->lock);
      if (mine) return used->add();
    }
    const typename Bypass::section mine(bypass_, used->lock);
    used->add();
  }

  // Up to `most` uses, as far as the calling thread is the owner. Returns how many.
  size_t use_as_owner(size_t first, size_t most) {
    typename Bypass::owner_walk walk;
    size_t uses = 0;
    for (; uses < most; ++uses) {
      place& used = places_[(first + uses) % 2];
      if (!walk.enter(bypass_) || !walk.may_use(used.lock)) break;
      used.add();
    }
    return uses;
  }

  const size_t threads_;
  const size_t sections_;
  const bool together_;
  std::array<place, 2> places_;
  Bypass bypass_;
};

// A writer sets elements of an array, so that it grows; readers get some, twice.
template <class Array>
class array_scenario : public scenario {
 public:
  array_scenario() : log_(3) { array_.set(0, &numbers_[0]); }
  size_t threads() const override { return 3; }
  void run(size_t number) override {
    if (number == 0) {
      for (const size_t place : {size_t{1}, size_t{20}, size_t{0}}) set(number, place, place + 1);
    } else {
      for (const size_t place : {size_t{20}, size_t{0}, size_t{1}}) get(number, place);
    }
  }
  // An array of more than one element guarantees no more than registers do: an outdated array may
  // answer a get, but not once the set has returned.
  std::string finish() override {
    return check_each_linearizable(register_specification(), log_.take(),
                                   [](const access& a) { return a.place; })
        .explanation;
  }

 private:
  void set(size_t number, size_t place, uint64_t value) {
    log_.record(number, [&] {
      scheduled_atomics::plain_write(&numbers_[value], sizeof(uint64_t));
      numbers_[value] = value;
      array_.set(place, &numbers_[value]);
      return access{place, true, value};
    });
  }
  void get(size_t number, size_t place) {
    log_.record(number, [&] {
      const uint64_t* at = array_.get(place);
      if (at == nullptr) return access{place, false, 0};
      scheduled_atomics::plain_read(at, sizeof *at);
      return access{place, false, *at};
    });
  }

  uint64_t numbers_[32] = {};
  Array array_;
  recorder<access, scheduled_clock> log_;
};

// Threads take elements, use them, and put them back. The first thread puts all elements at the
// beginning. Pool is a stealing_pool of pooled_element.
struct pooled_element {
  uint32_t owner = 1;
  uint64_t content = 0;
};
struct pooled_element_owner {
  uint32_t operator()(const pooled_element& e) const { return e.owner; }
};

template <class Pool>
class pool_scenario : public scenario {
 public:
  pool_scenario(size_t threads, size_t elements) : threads_(threads), elements_(elements) {}
  size_t threads() const override { return threads_; }
  void run(size_t number) override {
    if (number == 0) {
      pool_.reserve(elements_.size());
      for (pooled_element& e : elements_) pool_.put(&e);
    }
    for (int round = 0; round < 2; ++round) {
      pooled_element* first = pool_.get();
      pooled_element* second = pool_.get();
      use(first);
      use(second);
      if (first != nullptr) pool_.put(first);
      if (second != nullptr) pool_.put(second);
    }
  }
  std::string finish() override {
    size_t used = 0;
    for (const pooled_element& e : elements_) used += e.content;
    if (used != uses_) return base::StrCat("elements were used ", used, " times, not ", uses_);
    if (pool_.size() != elements_.size()) {
      return base::StrCat("the pool has ", pool_.size(), " elements of ", elements_.size());
    }
    return "";
  }

 private:
  void use(pooled_element* e) {
    if (e == nullptr) return;
    scheduled_atomics::plain_read(&e->content, sizeof e->content);
    scheduled_atomics::plain_write(&e->content, sizeof e->content);
    ++e->content;
    ++uses_;
  }

  const size_t threads_;
  std::vector<pooled_element> elements_;
  Pool pool_{1};
  size_t uses_ = 0;
};

// Threads make three objects at a time and use them: more than a pool with batches of one object
// keeps for a thread. Each recycles its own objects or, if it has one, an object of the other
// thread.
template <class Pool>
class object_scenario : public scenario {
 public:
  size_t threads() const override { return 2; }
  void run(size_t number) override {
    for (int round = 0; round < 2; ++round) {
      pooled_element* first = pool_.make();
      pooled_element* second = pool_.make();
      pooled_element* third = pool_.make();
      use(first);
      use(second);
      use(third);
      pool_.recycle(first);
      pool_.recycle(third);
      pooled_element* other = offered_[1 - number].exchange(nullptr, std::memory_order_acquire);
      if (other != nullptr) {
        use(other);
        pool_.recycle(other);
      }
      other = offered_[number].exchange(second, std::memory_order_acq_rel);
      if (other != nullptr) pool_.recycle(other);
    }
  }
  std::string finish() override {
    size_t left = 0;
    for (auto& g : offered_) left += g.load() != nullptr ? 1 : 0;
    if (pool_.in_use() == left) return "";
    return base::StrCat(pool_.in_use(), " objects are in use, not ", left);
  }

 private:
  void use(pooled_element* e) {
    scheduled_atomics::plain_read(&e->content, sizeof e->content);
    scheduled_atomics::plain_write(&e->content, sizeof e->content);
    ++e->content;
  }

  Pool pool_;
  scheduled_atomic<pooled_element*> offered_[2] = {nullptr, nullptr};
};

// One thread issues tickets and publishes them to the other two, which both try to take each
// ticket.
template <class Table>
class ticket_scenario : public scenario {
 public:
  // The table grows before the run.
  ticket_scenario() : log_(3) { table_.take(table_.insert(&values_[0], 5), 5); }
  size_t threads() const override { return 3; }
  void run(size_t number) override {
    if (number == 0) {
      for (size_t i = 0; i < tickets; ++i) {
        log_.record(number, [&] {
          const uint32_t ticket = table_.insert(&values_[i], 5);
          published_[i].store(ticket, std::memory_order_relaxed);
          if (!issued_.insert(ticket).second) issued_twice_ = true;
          return ticket_call{true, ticket, i + 1};
        });
      }
      return;
    }
    for (size_t i = 0; i < tickets; ++i) {
      const uint32_t ticket = published_[i].load(std::memory_order_relaxed);
      if (ticket == unpublished) continue;
      // A take with another owner changes nothing.
      if (table_.take(ticket, 4) != nullptr) stolen_ = true;
      log_.record(number, [&] {
        const uint64_t* value = table_.take(ticket, 5);
        return ticket_call{false, ticket,
                           value == nullptr ? 0 : static_cast<uint64_t>(value - values_) + 1};
      });
    }
  }
  std::string finish() override {
    if (stolen_) return "a ticket was taken for a wrong owner";
    if (issued_twice_) return "a ticket was issued twice";
    return check_linearizable(ticket_specification(), log_.take()).explanation;
  }

 private:
  static constexpr size_t tickets = 3;
  static constexpr uint32_t unpublished = ~uint32_t{0};

  uint64_t values_[tickets] = {};
  Table table_;
  scheduled_atomic<uint32_t> published_[tickets] = {unpublished, unpublished, unpublished};
  recorder<ticket_call, scheduled_clock> log_;
  std::set<uint32_t> issued_;
  bool issued_twice_ = false;
  bool stolen_ = false;
};

// Every thread issues two tickets and takes them back, twice: slots are reused.
template <class Table>
class ticket_reuse_scenario : public scenario {
 public:
  ticket_reuse_scenario() { table_.take(table_.insert(&values_[0], 5), 5); }
  size_t threads() const override { return 2; }
  void run(size_t number) override {
    for (size_t round = 0; round < 2; ++round) {
      uint64_t* const first = &values_[4 * number + 2 * round];
      const uint32_t a = table_.insert(first, 5);
      const uint32_t b = table_.insert(first + 1, 5);
      if (table_.take(a, 5) != first || table_.take(b, 5) != first + 1) wrong_ = true;
    }
  }
  std::string finish() override { return wrong_ ? "a ticket led to another's value" : ""; }

 private:
  uint64_t values_[8] = {};
  Table table_;
  bool wrong_ = false;
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_SCENARIOS_H_
