#include "lci/testing/ranks/deterministic_scheduler.h"

#include "lci/base/check.h"
#include "lci/net/sim/fabric.h"
#include "lci/net/sim/settings.h"

namespace lci {
namespace {

struct place {
  deterministic_scheduler* of = nullptr;
  size_t number = 0;
};
thread_local place own_place;

// No test has needed a twentieth of these steps.
constexpr uint64_t most_calls = 10000000;

// The most steps of a turn.
uint64_t longest_of(uint64_t seed) {
  constexpr uint64_t lengths[] = {3, 10, 50, 200};
  return lengths[net::sim::next_random(&seed) % 4];
}

}  // namespace

deterministic_scheduler::deterministic_scheduler(uint64_t seed, size_t threads)
    : random_(seed ^ 0x5851f42d4c957f2d),
      longest_(longest_of(random_)),
      seats_(threads),
      expected_(threads) {
  net::sim::fabric::set_step_hook(&deterministic_scheduler::pass);
}

deterministic_scheduler* deterministic_scheduler::of_this_thread() { return own_place.of; }

// Chooses the thread that has the turn next, if any is there.
void deterministic_scheduler::choose() {
  if (joined_ == 0) {
    running_ = false;
    return;
  }
  size_t skip = net::sim::next_random(&random_) % joined_;
  for (current_ = 0; !seats_[current_].taken || skip-- > 0;) ++current_;
  left_ = net::sim::next_random(&random_) % longest_ + 1;
  seats_[current_].called.notify_one();
}

void deterministic_scheduler::wait_for_turn(size_t number, std::unique_lock<std::mutex>* lock) {
  seats_[number].called.wait(*lock, [&] { return ended_ || (running_ && current_ == number); });
}

void deterministic_scheduler::join(size_t number) {
  own_place = {this, number};
  std::unique_lock<std::mutex> lock(mutex_);
  seats_[number].taken = true;
  if (++joined_ == expected_ && !running_) {
    running_ = true;
    choose();
  }
  wait_for_turn(number, &lock);
}

size_t deterministic_scheduler::go(bool for_good) {
  const size_t number = own_place.number;
  own_place = {};
  const std::lock_guard<std::mutex> guard(mutex_);
  seats_[number].taken = false;
  --joined_;
  if (for_good) --expected_;
  if (!ended_) choose();
  return number;
}

void deterministic_scheduler::leave() { go(/*for_good=*/true); }

void deterministic_scheduler::end() {
  const std::lock_guard<std::mutex> guard(mutex_);
  ended_ = true;
  for (seat& each : seats_) each.called.notify_all();
}

void deterministic_scheduler::pass() {
  if (own_place.of != nullptr) own_place.of->pass_on(own_place.number);
}

void deterministic_scheduler::pass_on(size_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ended_) return;
  LCI_CHECK(++calls_ < most_calls,
            "the ranks poll and poll: a message was lost, or one of them has "
            "given up");
  if (--left_ > 0) return;
  choose();
  wait_for_turn(number, &lock);
}

}  // namespace lci
