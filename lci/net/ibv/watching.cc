// Watching ranks that there is no connection with, where queue pairs are connected on first use.
//
// All ranks stand in a circle (circle.h), and neighbours are connected from the start: each feels
// the pulse of two, and two feel its own (failures.cc). The neighbours of a rank that has failed
// tell all the others, by datagrams and several times, since these may be lost; and they connect
// with the next in that direction, so that the circle is closed again. Who hails a rank that does
// not answer asks its neighbours as well. They say that it is lost, that it has ended its device,
// or that it is there: then it is waited for, however long it does not poll.
//
// All that needs one of the two neighbours to poll. A rank that was lost together with both is
// found by the next in the circle, when it has not answered for as long as a bootstrap waits.
//
// So who is told has to believe a rank that may be wrong: one that was cut off for a while takes
// those for failed who are alive. What limits that:
//   - Words only count about a rank that we are not connected with; who is connected feels for
//     itself.
//   - The words of a rank that we take for failed do not count. While it was cut off, its own
//     neighbours have told of it.
//   - It is told so: by the neighbours, and in answer to whatever it says to a rank that takes it
//     for failed. Then it takes that rank for failed, so that each of the two has its error and
//     neither waits for the other, and tells no more of anybody.
// What is left: if only the way between two neighbours is cut, both being alive, those who are
// connected with neither believe whom they hear first; two of them may believe differently.
#include <chrono>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// All are told so often, with this between the first two rounds (as between pulses), and then twice
// as much each time: during 7.75 s. With one datagram of three lost, and both neighbours telling,
// one rank of half a million is not told.
constexpr int rounds = 6;
constexpr milliseconds first_pause{250};

}  // namespace

bool rdma_device::connects_at_start(int rank) const {
  const circle& all = context_.ranks_around();
  return !late_ || is_us(rank) || is_us(all.next(rank, 1)) || is_us(all.next(rank, -1));
}

// From `rank` on, the first that has neither failed nor ended its device; it may be us, and is
// `rank` itself where there is no other.
int rdma_device::nearest(int rank, int step) {
  for (int r = context_.ranks_around().next(rank, step);;
       r = context_.ranks_around().next(r, step)) {
    const peer_state state = with(r).state.load(std::memory_order_relaxed);
    if (r == rank || (state != peer_state::failed && state != peer_state::ended)) return r;
  }
}

// A rank that ended its device leaves its neighbours unwatched from that side: devices end together
// or nearly so, and until then there is the other side. The first are told at once: the program may
// end when it hears of it.
void rdma_device::close_circle(int lost) {
  bool beside_us = false;
  for (const int step : {-1, 1}) {
    if (!is_us(nearest(lost, -step))) continue;
    beside_us = true;
    if (const int next = nearest(lost, step); !is_us(next)) begin_meeting(next);
  }
  if (!beside_us || is_cut_off_) return;
  obituaries_.push_back({lost});
  tell_of_lost();
}

// As many as there is room for now.
void rdma_device::tell_of_lost() {
  const auto now = steady_clock::now();
  for (size_t i = 0; i < obituaries_.size();) {
    obituary& each = obituaries_[i];
    for (; now >= each.due && each.next < ranks_; ++each.next) {
      const peer_state state = with(each.next).state.load(std::memory_order_relaxed);
      const bool listens = state == peer_state::unconnected || state == peer_state::alive;
      if (is_us(each.next) || (!listens && each.next != each.rank)) continue;
      if (!say(each.next, hail_kind::lost, each.rank)) return;
    }
    if (each.next == ranks_) {
      each.next = 0;
      each.due = now + first_pause * (1 << each.rounds);
      ++each.rounds;
    }
    if (each.rounds < rounds) {
      ++i;
    } else {
      obituaries_.erase(obituaries_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// It is hailed again in any case, and so are they.
void rdma_device::seek(int rank) {
  for (const int step : {-1, 1}) {
    const int asked = nearest(rank, step);
    if (!is_us(asked) && asked != rank) say(asked, hail_kind::seek, rank);
  }
}

// From a rank that we do not take for failed.
void rdma_device::take_word(const hail& got) {
  const auto from = static_cast<int>(got.rank);
  const auto about = static_cast<int>(got.about);
  if (is_us(about)) {
    is_cut_off_ = true;
    obituaries_.clear();
    suspect(from, "it takes this rank for failed");
    return;
  }
  peer& other = with(about);
  const peer_state state = other.state.load(std::memory_order_relaxed);
  if (got.kind == hail_kind::seek) {
    if (state == peer_state::alive) say(from, hail_kind::alive, about);
    if (state == peer_state::failed) say(from, hail_kind::lost, about);
    if (state == peer_state::ended) say(from, hail_kind::ended, about);
    return;
  }
  if (state != peer_state::unconnected) return;
  if (got.kind == hail_kind::alive) other.give_up = steady_clock::now() + patience_;
  if (got.kind == hail_kind::lost) suspect(about, base::StrCat("rank ", from, " says so"));
  // Of one that has our queue pairs, too, messages may be under way: it says so itself, behind
  // them.
  if (got.kind == hail_kind::ended && (from == about || !other.is_connected)) take_bye(about);
}

}  // namespace lci::net::ibv
