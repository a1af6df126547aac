#include "lci/coll/path_table.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "lci/coll/arena.h"
#include "lci/coll/buffer_bytes.h"

namespace lci::coll {

int64_t path_table::steady_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

size_t path_table::bytes() { return sizeof(board); }

path_table::path_table(int rank, const std::vector<char*>& places, bool selects, size_t in_caches,
                       clock now)
    : rank_(rank),
      places_(places),
      selects_(selects && places.size() > 1),
      in_caches_(in_caches),
      now_(now) {
  static_assert(entries > arena::lines);
  // At the end of a long phase, all operations that are measured come after the last change.
  static_assert(path_selector::shortest_phase > 2 * arena::areas);
}

path_plan path_table::plan_of(size_t of_class) const {
  const uint64_t word = of(0).plans[of_class].load(std::memory_order_relaxed);
  const uint64_t kernel_from = of(0).kernel_from.load(std::memory_order_relaxed);
  if (word != 0 || kernel_from == 0) return path_plan::unpack(word);
  return {kernel_from, copy_path::pipes, first_path_of(of_class), false};
}

copy_path path_table::first_path_of(size_t of_class) const {
  if (!is_kernel_allowed()) return copy_path::pipes;
  const size_t size_class = of_class % sizes;
  const size_t all = buffer_bytes(static_cast<operation_kind>(of_class / sizes),
                                  largest_in(size_class), static_cast<int>(places_.size()));
  const bool fits_caches = all <= of(0).in_caches.load(std::memory_order_relaxed);
  return size_class >= size_class_of(kernel_first_bytes) && fits_caches ? copy_path::kernel
                                                                        : copy_path::pipes;
}

void path_table::begin_to_select(uint64_t earliest, bool kernel_copies) {
  if (kernel_copies) {
    of(0).in_caches.store(in_caches_, std::memory_order_relaxed);
    of(0).kernel_from.store(earliest, std::memory_order_relaxed);
  }
  is_selecting_.store(true, std::memory_order_relaxed);
}

void path_table::look_up(transfer* begun) const {
  // The load that found the area free acquires the plan, too.
  const path_plan plan = plan_of(begun->of_class);
  begun->path = plan.of(begun->number);
  begun->arrival = plan.is_measured ? now_() : 0;
}

void path_table::ended(const transfer& made, arena& where) {
  if (made.arrival != 0) record_times(made);
  if (rank_ != 0 || !selects_) return;
  const uint64_t ended = count_ended(made);
  if (ended == 0 || !lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  update_plan(made, ended, where);
}

uint64_t path_table::count_ended(const transfer& made) {
  if (!made.fits_area || made.arrival != 0) return 1;
  std::atomic<uint8_t>& count = in_area_[made.of_class];  // approximate if threads meet
  const auto counted = static_cast<uint8_t>(count.load(std::memory_order_relaxed) + 1);
  count.store(counted, std::memory_order_relaxed);
  return counted % group == 0 ? group : 0;
}

void path_table::record_times(const transfer& made) {
  times& own = of(rank_).operations[made.entry % entries];
  own.entry.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  own.arrival.store(made.arrival, std::memory_order_relaxed);
  own.end.store(now_(), std::memory_order_relaxed);
  own.entry.store(made.entry + 1, std::memory_order_release);
}

int64_t path_table::duration_of(const transfer& made) const {
  int64_t last_arrival = 0;
  int64_t last_end = 0;
  for (size_t r = 0; r < places_.size(); ++r) {
    const times& each = of(static_cast<int>(r)).operations[made.entry % entries];
    if (each.entry.load(std::memory_order_acquire) != made.entry + 1) return -1;
    last_arrival = std::max(last_arrival, each.arrival.load(std::memory_order_relaxed));
    last_end = std::max(last_end, each.end.load(std::memory_order_relaxed));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (each.entry.load(std::memory_order_relaxed) != made.entry + 1) return -1;
  }
  return std::max<int64_t>(last_end - last_arrival, 0);
}

path_selector& path_table::selector_of(const transfer& made) {
  std::unique_ptr<path_selector>& found = selectors_[made.of_class];
  if (found == nullptr) {
    const bool has_kernel = is_kernel_allowed() && !made.fits_area;
    found = std::make_unique<path_selector>(first_path_of(made.of_class),
                                            has_kernel ? all_paths : pipe_paths);
  }
  return *found;
}

void path_table::update_plan(const transfer& made, uint64_t ended, arena& where) {
  if (!is_selecting_.load(std::memory_order_relaxed)) return;
  size_t kept = 0;
  for (size_t i = 0; i < open_count_; ++i) {
    if (!where.all_finished(open_[i].number)) {
      open_[kept++] = open_[i];
      continue;
    }
    const int64_t duration = duration_of(open_[i]);
    if (duration >= 0) selector_of(open_[i]).add(open_[i].path, duration);
  }
  open_count_ = kept;
  if (made.arrival != 0 && open_count_ < open_.size()) open_[open_count_++] = made;

  path_selector& selector = selector_of(made);
  selector.count(ended);
  if (const auto next = selector.next(plan_of(made.of_class), made.number + arena::areas)) {
    of(0).plans[made.of_class].store(next->pack(), std::memory_order_relaxed);
  }
}

}  // namespace lci::coll
