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

copy_path path_selector::fastest() {
  // A smaller difference is not worth a change.
  constexpr double clearly = 0.95;
  copy_path found = best_;
  double limit = clearly * static_cast<double>(of(best_).usual());
  for (trial_ = 1; find_trial(); ++trial_) {
    const auto usual = static_cast<double>(of(tried()).usual());
    if (usual >= limit) continue;
    found = tried();
    limit = usual;
  }
  return found;
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
      phase_ = phase::trials;
      trial_ = 1;
      find_trial();
      return path_plan{earliest, best_, tried(), true};
    case phase::trials: {
      if (!of(tried()).is_complete()) return std::nullopt;
      ++trial_;
      if (find_trial()) return path_plan{earliest, now.after, tried(), true};
      phase_ = phase::long_one;
      ended_ = 0;
      const copy_path found = fastest();
      length_ =
          found == best_ ? std::clamp(2 * length_, shortest_phase, longest_phase) : shortest_phase;
      best_ = found;
      if (now.after != best_) return path_plan{earliest, now.after, best_, false};
      made.is_measured = false;
      return made;
    }
  }
  return std::nullopt;
}

}  // namespace lci::coll
