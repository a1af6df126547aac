// Uses of arrays, pools and tables under the explorer.
#ifndef LCI_TESTING_SCENARIOS_POOL_SCENARIOS_H_
#define LCI_TESTING_SCENARIOS_POOL_SCENARIOS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lci/base/strings.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"
#include "lci/testing/linearizability/history.h"
#include "lci/testing/linearizability/linearizable.h"
#include "lci/testing/linearizability/specifications.h"

namespace lci::ds::explorer {

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

#endif  // LCI_TESTING_SCENARIOS_POOL_SCENARIOS_H_
