// Connecting on first use: who wants to post to a rank hails it, again and again until it answers;
// who is hailed answers, and hails back if it has not been answered itself. So each of the two
// knows that the other's queue pairs are there before it posts, whichever of their hails are lost,
// and also if both begin at the same time.
#include <algorithm>
#include <chrono>
#include <mutex>

#include "lci/base/log.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{200};
// Without a word of anybody wanting something, hails are looked for once in so many polls.
constexpr uint32_t polls_between_meetings = 64;

}  // namespace

// From post: who polls will do it.
void rdma_device::want(peer& to) {
  if (to.wanted.load(std::memory_order_relaxed)) return;
  to.wanted.store(true, std::memory_order_relaxed);
  any_wanted_.store(true, std::memory_order_release);
  sleeper_.wake();
}

void rdma_device::meet() {
  const bool any = any_wanted_.load(std::memory_order_relaxed);
  const bool look = polls_ % polls_between_meetings == 0;
  if (look) context_.meet_all_but(*this);
  if (look || any || !meetings_.empty()) meet_now(any);
}

void rdma_device::answer_hails() {
  if (!lock_.try_lock()) return;  // it is being polled
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  meet_now(any_wanted_.load(std::memory_order_relaxed));
}

void rdma_device::meet_now(bool any) {
  if (any && any_wanted_.exchange(false, std::memory_order_acquire)) {
    for (int r = 0; r < ranks_; ++r) {
      if (with(r).wanted.load(std::memory_order_relaxed)) begin_meeting(r);
    }
  }
  own_->datagrams.receive([&](const hail& got) { take_hail(got); });
  if (!obituaries_.empty()) tell_of_lost();
  if (meetings_.empty()) return;
  const auto now = steady_clock::now();
  for (size_t i = 0; i < meetings_.size();) {
    const int rank = meetings_[i];
    peer& other = with(rank);
    if (other.state.load(std::memory_order_relaxed) == peer_state::unconnected) {
      if (now >= other.next_hail && say(rank, hail_kind::ask, rank)) {
        if (other.pause > milliseconds::zero()) seek(rank);
        other.pause = std::min(std::max(2 * other.pause, first_pause), longest_pause);
        other.next_hail = now + other.pause;
      }
      if (now > other.give_up) suspect(rank, "it does not answer");
      if (other.state.load(std::memory_order_relaxed) == peer_state::unconnected) {
        ++i;
        continue;
      }
    }
    meetings_[i] = meetings_.back();
    meetings_.pop_back();
  }
}

void rdma_device::begin_meeting(int rank) {
  peer& other = with(rank);
  if (other.meets || other.state.load(std::memory_order_relaxed) != peer_state::unconnected) {
    return;
  }
  other.meets = true;
  if (base::Status bad = own_->make_connection(rank); !bad.ok()) {
    suspect(rank, std::string(bad.message()));
    return;
  }
  moved_ = true;
  other.give_up = steady_clock::now() + patience_;
  other.next_hail = steady_clock::time_point();
  meetings_.push_back(rank);
}

// False if there is no room now.
bool rdma_device::say(int to, hail_kind kind, int about) {
  hail said = {};
  said.version = wire_version;
  said.kind = kind;
  said.rank = static_cast<uint32_t>(context_.rank());
  said.about = static_cast<uint32_t>(about);
  if (kind == hail_kind::ask || kind == hail_kind::answer) {
    said.numbers = own_->with(to).numbers();
  }
  const offer& there = with(to).offered;
  return own_->datagrams.send(context_.way_to(to), there.hail_number, there.hail_key, said);
}

void rdma_device::take_hail(const hail& got) {
  if (!makes_sense(got, ranks_, context_.rank())) {
    LCI_LOG(warn, "ibv: dropped a datagram that is not of this job");
    return;
  }
  const auto rank = static_cast<int>(got.rank);
  const peer_state state = with(rank).state.load(std::memory_order_relaxed);
  const bool gives_us_up = got.kind == hail_kind::lost && is_us(static_cast<int>(got.about));
  // To us it is lost. It is told so, and to it we are, too.
  if (state == peer_state::failed && !gives_us_up) say(rank, hail_kind::lost, rank);
  if (state != peer_state::unconnected && state != peer_state::alive) return;
  if (got.kind == hail_kind::ask || got.kind == hail_kind::answer) {
    take_numbers(got);
  } else {
    take_word(got);
  }
}

void rdma_device::take_numbers(const hail& got) {
  const auto rank = static_cast<int>(got.rank);
  peer& from = with(rank);
  if (from.bye_sent && !from.is_connected) {
    say(rank, hail_kind::ended, context_.rank());  // once more; the first may be lost
    return;
  }
  begin_meeting(rank);
  if (from.state.load(std::memory_order_relaxed) == peer_state::suspected) return;
  if (!from.is_connected) {
    from.theirs = got.numbers;
    if (base::Status bad = connect_to(rank); !bad.ok()) {
      suspect(rank, std::string(bad.message()));
      return;
    }
  }
  moved_ = true;
  if (got.kind == hail_kind::ask) say(rank, hail_kind::answer, rank);
  if (got.kind == hail_kind::answer) open_for_posts(rank);
}

// The rank has shown that its queue pairs are connected, too.
void rdma_device::open_for_posts(int rank) {
  peer& other = with(rank);
  if (other.state.load(std::memory_order_relaxed) != peer_state::unconnected) return;
  set_state(other, peer_state::alive);
}

}  // namespace lci::net::ibv
