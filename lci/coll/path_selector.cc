#include "lci/coll/path_selector.h"

#include <algorithm>

namespace lci::coll {

int64_t path_selector::sample::usual() const {
  std::array<int64_t, samples> sorted = durations;
  const auto at = sorted.begin() + count / 4;
  std::nth_element(sorted.begin(), at, sorted.begin() + count);
  return *at;
}

void path_selector::add(copy_path path, int64_t duration) {
  sample& all = of(path);
  if (all.is_complete()) return;
  all.durations[all.count++] = duration;
  all.time += duration;
}

bool path_selector::is_other_better() {
  // A smaller difference is not worth a change.
  constexpr double clearly = 0.95;
  return static_cast<double>(of(other(best_)).usual()) <
         clearly * static_cast<double>(of(best_).usual());
}

std::optional<path_plan> path_selector::next(const path_plan& now, uint64_t earliest) {
  path_plan made = now;
  switch (phase_) {
    case phase::long_one:
      if (ended_ < length_) return std::nullopt;
      phase_ = phase::own_measurement;
      measured_ = {};
      made.is_measured = true;
      return made;
    case phase::own_measurement:
      if (!of(best_).is_complete()) return std::nullopt;
      phase_ = phase::trial;
      return path_plan{earliest, best_, other(best_), true};
    case phase::trial:
      if (!of(other(best_)).is_complete()) return std::nullopt;
      phase_ = phase::long_one;
      ended_ = 0;
      if (is_other_better()) {
        best_ = other(best_);
        length_ = shortest_phase;
        made.is_measured = false;
        return made;
      }
      length_ = std::clamp(2 * length_, shortest_phase, longest_phase);
      return path_plan{earliest, now.after, best_, false};
  }
  return std::nullopt;
}

}  // namespace lci::coll
