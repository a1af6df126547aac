#include "lci/net/shm/get_selector.h"

#include <algorithm>
#include <mutex>

namespace lci::net::shm {
namespace {

// A way must be so much faster to replace the other.
constexpr double clearly = 0.9;

// Messages of at least so many bytes are put at first: both ranks copy.
constexpr size_t least_put = size_t{128} << 10;

}  // namespace

void get_selector::came(bool got, size_t size, std::chrono::nanoseconds time) {
  if (!lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  if (got != gets()) return;
  ++messages_;
  if (messages_ > length() - trial) {
    const auto ns = static_cast<double>(std::max<int64_t>(time.count(), 1));
    fastest_ = std::min(fastest_, ns / static_cast<double>(size));
  }
  if (messages_ == length()) end_phase();
}

void get_selector::end_phase() {
  const bool now = gets();
  const bool was_trial = is_trial();
  costs_[now ? 1 : 0] = fastest_;
  if (was_trial) {
    const double cost_of_best = costs_[best_ ? 1 : 0];
    long_phase_ = std::min(2 * long_phase_, between_trials);
    if (fastest_ < clearly * cost_of_best) {
      best_ = now;
      long_phase_ = trial;
    }
  }
  gets_.store(was_trial ? best_ : !best_, std::memory_order_relaxed);
  messages_ = 0;
  fastest_ = std::numeric_limits<double>::infinity();
}

get_selectors::get_selectors(int ranks)
    : selectors_(new std::array<get_selector, ranges>[static_cast<size_t>(ranks)]) {
  for (int r = 0; r < ranks; ++r) {
    for (size_t size = smallest; size < largest; size *= 2) of(r, size).assume(size < least_put);
  }
}

size_t get_selectors::range_of(size_t size) {
  size_t range = 0;
  while (range + 1 < ranges && size >= 2 * smallest << range) ++range;
  return range;
}

}  // namespace lci::net::shm
