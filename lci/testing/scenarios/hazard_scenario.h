// Users of a thing that its owner closes.
#ifndef LCI_TESTING_SCENARIOS_HAZARD_SCENARIO_H_
#define LCI_TESTING_SCENARIOS_HAZARD_SCENARIO_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/base/strings.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"

namespace lci::ds::explorer {

// Thread 0 closes a thing, uses its memory alone, and opens it again, several times. Each other
// thread tries to use a part of its own of that memory, twice. Mark and Hazard are
// basic_hazard_mark and basic_hazard.
template <class Mark, class Hazard>
class hazard_scenario : public scenario {
 public:
  // `users`: at most 2.
  hazard_scenario(size_t users, int closes) : users_(users), closes_(closes) {}
  size_t threads() const override { return users_ + 1; }
  void run(size_t number) override {
    if (number == 0) {
      for (int i = 0; i < closes_; ++i) close();
      return;
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      const typename Hazard::use use(hazards_[number - 1], thing, mark_);
      if (is_open_.load(std::memory_order_acquire) == 0) continue;
      scheduled_atomics::plain_write(&parts_[number - 1], sizeof(size_t));
      ++parts_[number - 1];
      ++used_[number - 1];
    }
  }
  std::string finish() override {
    for (size_t i = 0; i < users_; ++i) {
      if (parts_[i] != used_[i]) return base::StrCat(parts_[i], " uses of ", used_[i]);
      if (hazards_[i].protects(thing)) return base::StrCat("user ", i, " uses it for ever");
    }
    return "";
  }

 private:
  static constexpr uint32_t thing = 7;

  void close() {
    is_open_.store(0, std::memory_order_relaxed);
    const bool must_wait = mark_.must_wait();
    for (size_t i = 0; i < users_; ++i) {
      while (must_wait && hazards_[i].protects(thing)) scheduled_atomics::pause();
      scheduled_atomics::plain_read(&parts_[i], sizeof(size_t));
      scheduled_atomics::plain_write(&parts_[i], sizeof(size_t));
    }
    is_open_.store(1, std::memory_order_release);
  }

  const size_t users_;
  const int closes_;
  scheduled_atomics::atomic<uint32_t> is_open_{1};
  Mark mark_;
  std::array<Hazard, 2> hazards_;
  std::array<size_t, 2> parts_{};
  std::array<size_t, 2> used_{};
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_HAZARD_SCENARIO_H_
