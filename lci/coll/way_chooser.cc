#include "lci/coll/way_chooser.h"

#include <algorithm>

namespace lci::coll {

int64_t way_chooser::taken::usual() const {
  std::array<int64_t, samples> sorted = durations;
  const auto at = sorted.begin() + count / 4;
  std::nth_element(sorted.begin(), at, sorted.begin() + count);
  return *at;
}

void way_chooser::add(way gone, int64_t duration) {
  taken& those = of(gone);
  if (those.is_complete()) return;
  those.durations[those.count++] = duration;
  those.time += duration;
}

bool way_chooser::is_other_better() {
  return static_cast<double>(of(other(best_)).usual()) <
         0.95 * static_cast<double>(of(best_).usual());
}

std::optional<way_plan> way_chooser::next(const way_plan& now, uint64_t earliest) {
  way_plan made = now;
  switch (phase_) {
    case phase::long_one:
      if (ended_ < length_) return std::nullopt;
      phase_ = phase::own_measurement;
      taken_ = {};
      made.is_measured = true;
      return made;
    case phase::own_measurement:
      if (!of(best_).is_complete()) return std::nullopt;
      phase_ = phase::trial;
      return way_plan{earliest, best_, other(best_), true};
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
      return way_plan{earliest, now.after, best_, false};
  }
  return std::nullopt;
}

}  // namespace lci::coll
