#include "lci/coll/ways.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "lci/coll/arena.h"

namespace lci::coll {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

size_t ways::bytes() { return sizeof(board); }

ways::ways(int rank, const std::vector<char*>& places, bool may_choose)
    : rank_(rank), places_(places), may_choose_(may_choose && places.size() > 1) {
  static_assert(entries > arena::lines);
  // Of operations that are measured at the end of a long phase.
  static_assert(way_chooser::shortest_phase > 2 * arena::areas);
}

size_t ways::class_of(operation_kind kind, size_t bytes) {
  constexpr size_t smallest = 10;  // bits
  size_t bits = 0;
  for (size_t rest = bytes >> smallest; rest > 1; rest >>= 1) ++bits;
  return static_cast<size_t>(kind) * sizes + std::min(bits, sizes - 1);
}

void ways::choose(passage* passing) const {
  // No fence is needed beyond that with which the line was found to be free.
  const way_plan plan =
      way_plan::unpack(plan_of(passing->of_class).load(std::memory_order_relaxed));
  passing->goes = plan.of(passing->number);
  passing->arrival = plan.is_measured ? now() : 0;
}

void ways::ended(const passage& passed, arena& where) {
  if (passed.arrival != 0) note(passed);
  if (rank_ != 0 || !may_choose_ || !lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  decide(passed, where);
}

void ways::note(const passage& passed) {
  times& own = of(rank_).operations[passed.entry % entries];
  own.entry.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  own.arrival.store(passed.arrival, std::memory_order_relaxed);
  own.end.store(now(), std::memory_order_relaxed);
  own.entry.store(passed.entry + 1, std::memory_order_release);
}

int64_t ways::duration_of(const passage& passed) const {
  int64_t last_arrival = 0;
  int64_t last_end = 0;
  for (size_t r = 0; r < places_.size(); ++r) {
    const times& theirs = of(static_cast<int>(r)).operations[passed.entry % entries];
    if (theirs.entry.load(std::memory_order_acquire) != passed.entry + 1) return -1;
    last_arrival = std::max(last_arrival, theirs.arrival.load(std::memory_order_relaxed));
    last_end = std::max(last_end, theirs.end.load(std::memory_order_relaxed));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (theirs.entry.load(std::memory_order_relaxed) != passed.entry + 1) return -1;
  }
  return std::max<int64_t>(last_end - last_arrival, 0);
}

way_chooser& ways::chooser_of(size_t of_class) {
  std::unique_ptr<way_chooser>& found = choosers_[of_class];
  if (found == nullptr) found = std::make_unique<way_chooser>();
  return *found;
}

void ways::decide(const passage& passed, arena& where) {
  // The kernel may not be able to copy between all ranks.
  if (where.joined() != arena::join_state::readable) return;
  size_t kept = 0;
  for (size_t i = 0; i < open_count_; ++i) {
    if (!where.all_finished(open_[i].number)) {
      open_[kept++] = open_[i];
      continue;
    }
    const int64_t duration = duration_of(open_[i]);
    if (duration >= 0) chooser_of(open_[i].of_class).add(open_[i].goes, duration);
  }
  open_count_ = kept;
  if (passed.arrival != 0 && open_count_ < open_.size()) open_[open_count_++] = passed;

  way_chooser& chooser = chooser_of(passed.of_class);
  chooser.count();
  std::atomic<uint64_t>& plan = plan_of(passed.of_class);
  const way_plan known = way_plan::unpack(plan.load(std::memory_order_relaxed));
  if (const auto next = chooser.next(known, passed.number + arena::areas)) {
    plan.store(next->pack(), std::memory_order_relaxed);
  }
}

}  // namespace lci::coll
