#include "lci/net/shm/large_puts.h"

#include <algorithm>
#include <chrono>
#include <mutex>

namespace lci::net::shm {
namespace {

// A way must be so much faster to replace the other.
constexpr double clearly = 0.9;

way other(way than) { return than == way::kernel ? way::ring : way::kernel; }

}  // namespace

int64_t large_puts::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

way way_chooser::next() {
  // Whichever; it is not worth waiting for.
  if (!lock_.try_lock()) return way::kernel;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  if (left_ == 0) begin_phase();
  return now_;
}

void way_chooser::began(way through) {
  if (!lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  if (through == now_ && left_ > 0) --left_;
}

void way_chooser::begin_phase() {
  const bool was_trial = now_ != best_;
  compare();
  now_ = was_trial ? best_ : other(best_);
  left_ = was_trial ? between_trials : trial;
}

void way_chooser::compare() {
  for (const way each : {way::kernel, way::ring}) {
    spent& lately = of(each);
    if (lately.bytes > 0) cost_of(each) = lately.time / lately.bytes;
    lately = spent();
  }
  const double now = cost_of(best_);
  const double then = cost_of(other(best_));
  if (then > 0 && now > 0 && then < clearly * now) best_ = other(best_);
}

void way_chooser::note(way through, size_t size, int64_t begin, int64_t end) {
  if (!lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  of(through).bytes += static_cast<double>(size);
  of(through).time += static_cast<double>(std::max<int64_t>(end - std::max(begin, last_end_), 0));
  last_end_ = std::max(last_end_, end);
}

}  // namespace lci::net::shm
