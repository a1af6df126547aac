#include "lci/net/shm/large_puts.h"

#include <algorithm>
#include <chrono>
#include <mutex>

namespace lci::net::shm {
namespace {

// A way must be so much faster to replace the other.
constexpr double clearly = 0.9;

copy_path other(copy_path path) {
  return path == copy_path::kernel ? copy_path::ring : copy_path::kernel;
}

}  // namespace

int64_t large_puts::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::optional<copy_path> path_selector::next() {
  // Whichever; the lock is not worth waiting for.
  if (!lock_.try_lock()) return copy_path::kernel;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  if (is_over()) begin_phase();
  if (is_trial() && (under_way(best_) > 0 || under_way(now_) >= trial)) return std::nullopt;
  return now_;
}

void path_selector::began(copy_path path) {
  under_way_[static_cast<size_t>(path)].fetch_add(1, std::memory_order_relaxed);
}

void path_selector::ended(copy_path path, size_t size, int64_t begin, int64_t end) {
  // Before the last put of a phase is found to be over.
  gave_up(path);
  if (!lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  measure(path, size, begin, end);
}

void path_selector::gave_up(copy_path path) {
  under_way_[static_cast<size_t>(path)].fetch_sub(1, std::memory_order_relaxed);
}

void path_selector::measure(copy_path path, size_t size, int64_t begin, int64_t end) {
  if (clean_since_ == INT64_MAX && under_way(other(now_)) == 0) clean_since_ = end;
  const int64_t alone_since = std::max(begin, last_end_);
  last_end_ = std::max(last_end_, end);
  if (path != now_ || begin < clean_since_) return;
  ++measured_;
  spent_.bytes += static_cast<double>(size);
  spent_.time += static_cast<double>(std::max<int64_t>(end - alone_since, 0));
}

bool path_selector::is_over() const { return measured_ >= least_ && spent_.time >= least_time_; }

void path_selector::begin_phase() {
  const bool was_trial = is_trial();
  if (spent_.bytes > 0) cost_[static_cast<size_t>(now_)] = spent_.time / spent_.bytes;
  const double cost_of_best = cost_[static_cast<size_t>(best_)];
  const double cost_of_other = cost_[static_cast<size_t>(other(best_))];
  const copy_path before = now_;
  if (was_trial) {
    least_ = between_trials;
    least_time_ = least_share * spent_.time;
    if (cost_of_other < clearly * cost_of_best) best_ = other(best_);
    now_ = best_;
  } else {
    least_ = trial;
    least_time_ = 0;
    now_ = other(best_);
  }
  spent_ = spent();
  measured_ = 0;
  // A trial waits for the others; see next().
  if (now_ != before && !is_trial() && under_way(before) > 0) clean_since_ = INT64_MAX;
}

}  // namespace lci::net::shm
