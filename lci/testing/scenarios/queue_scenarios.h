// Uses of queues and matching structures under the explorer.
#ifndef LCI_TESTING_SCENARIOS_QUEUE_SCENARIOS_H_
#define LCI_TESTING_SCENARIOS_QUEUE_SCENARIOS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lci/ds/matching_links.h"
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

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_QUEUE_SCENARIOS_H_
