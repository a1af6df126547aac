// Uses of locks and barriers under the explorer.
#ifndef LCI_TESTING_SCENARIOS_LOCK_SCENARIOS_H_
#define LCI_TESTING_SCENARIOS_LOCK_SCENARIOS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lci/base/strings.h"
#include "lci/ds/spinlock.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"

namespace lci::ds::explorer {

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

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_LOCK_SCENARIOS_H_
