#include "lci/net/shm/laned_device.h"

#include <algorithm>
#include <utility>

namespace lci::net::shm {
namespace {

// Polls of a thread's home lane between two signs.
constexpr uint32_t polls_between_signs = 4;
// Between two looks for lanes that have come into use: one line, which changes seldom.
constexpr uint32_t polls_between_glances = 64;
// Between two looks at the signs of lanes. A look costs a line of each lane in use, which the thread
// of that lane has to fetch back for its next sign. Where all lanes have their threads, looks become
// rarer. They are never so frequent that a thread which is busy with messages has given no sign.
constexpr uint32_t least_polls_between_looks = 256;
constexpr uint32_t most_polls_between_looks = 16384;
// One poll in so many that has found something also visits adopted lanes.
constexpr uint32_t polls_between_visits = 4;
// Adopted lanes that are visited at a time.
constexpr int most_visits = 4;

}  // namespace

laned_device::laned_device(shm_context& context, const device_config& config,
                           const device_limits& limits, std::shared_ptr<lanes_common> common)
    : device(limits),
      common_(std::move(common)),
      lane_outlooks_(new outlook[common_->boxes->lanes()]),
      lanes_(new lane[common_->boxes->lanes()]) {
  outlook_mask_ = common_->boxes->lanes() - 1;
  outlooks_ = lane_outlooks_.get();
  for (uint32_t i = 0; i < lanes(); ++i) {
    lanes_[i].net =
        std::make_unique<shm_device>(context, config, limits, common_, i, &lane_outlooks_[i]);
  }
  limits_.serves_threads_apart = true;
}

// Posts.

// The home lane of the calling thread, which posts.
[[gnu::always_inline]] inline laned_device::lane& laned_device::used_lane() {
  const uint32_t number = home();
  lane& mine = lanes_[number];
  if (__builtin_expect(!mine.is_used.load(std::memory_order_relaxed), 0)) use(mine, number);
  return mine;
}

// (Two threads may both do so.)
[[gnu::noinline]] void laned_device::use(lane& mine, uint32_t number) {
  common_->boxes->use(number);
  mine.is_used.store(true, std::memory_order_relaxed);
}

error_t laned_device::post(const op& operation) { return used_lane().net->post(operation); }

error_t laned_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                                 const remote_place* where) {
  return used_lane().net->post_short(what, imm, buffer, size, where);
}

bool laned_device::add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) {
  return lanes_[0].net->add(rank, remote, remote_offset, value);
}

bool laned_device::is_got_sooner(int rank, size_t size, bool alone) const {
  return lanes_[0].net->is_got_sooner(rank, size, alone);
}

bool laned_device::read_memory(int rank, void* to, uint64_t from, size_t size) {
  return lanes_[home()].net->read_memory(rank, to, from, size);
}

void* laned_device::mapped_address(int rank, remote_region remote, uint64_t remote_offset,
                                   size_t size) {
  return lanes_[0].net->mapped_address(rank, remote, remote_offset, size);
}

// Polls.

error_t laned_device::poll(completion* out, size_t max, size_t* count) {
  const uint32_t number = home();
  lane& mine = lanes_[number];
  const uint32_t polls = mine.polls.load(std::memory_order_relaxed) + 1;
  mine.polls.store(polls, std::memory_order_relaxed);
  if (polls % polls_between_signs == 0) mine.sign.store(polls, std::memory_order_relaxed);
  const error_t result = mine.net->poll(out, max, count);
  if (__builtin_expect(polls % polls_between_glances == 0 || common_->failures.is_pending(), 0)) {
    look_around(mine, number, polls);
  }
  if (__builtin_expect(mine.adopted.load(std::memory_order_relaxed) == 0, 1)) return result;
  if (result.is_done() && polls % polls_between_visits != 0) return result;
  return visit_adopted(mine, result, out, max, count);
}

[[gnu::noinline]] void laned_device::look_around(lane& mine, uint32_t number, uint32_t polls) {
  // Lanes that have not settled with a failed rank need polls, whether they are used or not.
  const bool failing = common_->failures.is_pending();
  const uint64_t in_use = failing ? common_->boxes->all_lanes() : common_->boxes->in_use();
  const bool is_due =
      static_cast<int32_t>(polls - mine.next_look.load(std::memory_order_relaxed)) >= 0;
  if (!is_due && in_use == mine.in_use.load(std::memory_order_relaxed)) return;
  mine.in_use.store(in_use, std::memory_order_relaxed);
  for (uint32_t i = 0; i < lanes(); ++i) {
    if (i == number) continue;
    if ((in_use >> i & 1) != 0) {
      look_at(mine, number, i);
    } else {
      leave(mine, number, i);
    }
  }
  const uint32_t interval = mine.adopted.load(std::memory_order_relaxed) != 0
                                ? least_polls_between_looks
                                : std::clamp(2 * mine.interval.load(std::memory_order_relaxed),
                                             least_polls_between_looks, most_polls_between_looks);
  mine.interval.store(interval, std::memory_order_relaxed);
  mine.next_look.store(polls + interval, std::memory_order_relaxed);
}

// Changes while threads poll the lane: its own, and those of the lane that has adopted it.
uint32_t laned_device::poll_signs(uint32_t other, uint32_t adopter) const {
  const uint32_t own = lanes_[other].sign.load(std::memory_order_relaxed);
  return adopter == nobody ? own : own + lanes_[adopter].sign.load(std::memory_order_relaxed);
}

// Adopts a lane that nobody has polled since the last look, and leaves one whose own threads poll.
void laned_device::look_at(lane& mine, uint32_t number, uint32_t other) {
  uint32_t adopter = lanes_[other].adopter.load(std::memory_order_relaxed);
  const bool is_mine = adopter == number;
  const uint32_t now = poll_signs(other, is_mine ? nobody : adopter);
  const bool unattended = mine.seen[other].exchange(now, std::memory_order_relaxed) == now;
  if (is_mine ? !unattended
              : !unattended || !lanes_[other].adopter.compare_exchange_strong(
                                   adopter, number, std::memory_order_relaxed)) {
    leave(mine, number, other);
  } else {
    mine.adopted.fetch_or(uint64_t{1} << other, std::memory_order_relaxed);
  }
}

// If this lane has adopted it.
void laned_device::leave(lane& mine, uint32_t number, uint32_t other) {
  const uint64_t bit = uint64_t{1} << other;
  if ((mine.adopted.load(std::memory_order_relaxed) & bit) == 0) return;
  mine.adopted.fetch_and(~bit, std::memory_order_relaxed);
  uint32_t adopter = number;
  lanes_[other].adopter.compare_exchange_strong(adopter, nobody, std::memory_order_relaxed);
}

// Appends what adopted lanes have to the completions that the home lane had, and returns what the
// poll as a whole returns.
[[gnu::noinline]] error_t laned_device::visit_adopted(lane& mine, error_t result, completion* out,
                                                      size_t max, size_t* count) {
  const uint64_t adopted = mine.adopted.load(std::memory_order_relaxed);
  uint32_t next = mine.next_visit.load(std::memory_order_relaxed);
  int visits = most_visits;
  for (uint32_t i = 0; i < lanes() && visits > 0 && *count < max; ++i) {
    const uint32_t other = next++ & outlook_mask_;
    if ((adopted >> other & 1) == 0) continue;
    --visits;
    size_t found = 0;
    if (lanes_[other].net->poll(out + *count, max - *count, &found).is_done()) {
      result = errorcode_t::done;
    }
    *count += found;
  }
  mine.next_visit.store(next, std::memory_order_relaxed);
  return result;
}

void laned_device::release(const completion& received) {
  lanes_[shm_device::lane_of(received)].net->release(received);
}

// The state of all lanes.

bool laned_device::drained() {
  return std::all_of(lanes_.get(), lanes_.get() + lanes(),
                     [](const lane& one) { return one.net->drained(); });
}

bool laned_device::has_left(int rank) {
  return std::all_of(lanes_.get(), lanes_.get() + lanes(),
                     [rank](const lane& one) { return one.net->has_left(rank); });
}

bool laned_device::has_died(int rank) { return lanes_[0].net->has_died(rank); }

std::optional<bool> laned_device::has_arrivals() {
  std::optional<bool> found = false;
  for (uint32_t i = 0; i < lanes() && found != true; ++i) {
    const std::optional<bool> there = lanes_[i].net->has_arrivals();
    if (there != false) found = there;
  }
  return found;
}

}  // namespace lci::net::shm
