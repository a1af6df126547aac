// Users of memory that its owner closes.
#ifndef LCI_TESTING_SCENARIOS_CLOSING_SCENARIO_H_
#define LCI_TESTING_SCENARIOS_CLOSING_SCENARIO_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/base/strings.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"

namespace lci::ds::explorer {

// Thread 0 closes its memory, uses it when nobody else does, and opens it again, several times.
// Each other thread tries twice to use a part of its own. Protocol is one of those below.
template <class Protocol>
class closing_scenario : public scenario {
 public:
  // `users`: at most 2.
  explicit closing_scenario(size_t users, int closes = 1) : users_(users), closes_(closes) {}
  size_t threads() const override { return users_ + 1; }
  void run(size_t number) override {
    if (number == 0) {
      for (int i = 0; i < closes_; ++i) close();
      return;
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto use = [&] {
        scheduled_atomics::plain_write(&parts_[number - 1], sizeof(size_t));
        ++parts_[number - 1];
        return true;
      };
      if (protocol_.use(number - 1, use)) ++used_[number - 1];
    }
  }
  std::string finish() override {
    for (size_t i = 0; i < users_; ++i) {
      if (parts_[i] != used_[i]) return base::StrCat(parts_[i], " uses of ", used_[i]);
      if (protocol_.is_announced_by(i)) return base::StrCat("user ", i, " uses it for ever");
    }
    return "";
  }

 private:
  void close() {
    const bool must_wait = protocol_.close();
    for (size_t i = 0; i < users_; ++i) {
      while (must_wait && protocol_.is_announced_by(i)) scheduled_atomics::pause();
      scheduled_atomics::plain_read(&parts_[i], sizeof(size_t));
      scheduled_atomics::plain_write(&parts_[i], sizeof(size_t));
    }
    protocol_.reopen();
  }

  const size_t users_;
  const int closes_;
  Protocol protocol_;
  std::array<size_t, 2> parts_{};
  std::array<size_t, 2> used_{};
};

// Gate and Writer are basic_write_gate and basic_gated_writer.
template <class Gate, class Writer>
class gate_protocol {
 public:
  template <class Use>
  bool use(size_t user, const Use& use) {
    return writers_[user].write(gate_, owner, use);
  }
  bool is_announced_by(size_t user) const { return writers_[user].writes_to(owner); }
  bool close() {
    gate_.close();
    return true;
  }
  void reopen() {}  // writers may still use it

 private:
  static constexpr uint32_t owner = 0;

  Gate gate_;
  std::array<Writer, 2> writers_;
};

// Mark and Hazard are basic_hazard_mark and basic_hazard.
template <class Mark, class Hazard>
class hazard_protocol {
 public:
  template <class Use>
  bool use(size_t user, const Use& use) {
    const typename Hazard::use announced(hazards_[user], thing, mark_);
    return is_open_.load(std::memory_order_acquire) != 0 && use();
  }
  bool is_announced_by(size_t user) const { return hazards_[user].protects(thing); }
  bool close() {
    is_open_.store(0, std::memory_order_relaxed);
    return mark_.must_wait();
  }
  void reopen() { is_open_.store(1, std::memory_order_release); }

 private:
  static constexpr uint32_t thing = 7;

  scheduled_atomics::atomic<uint32_t> is_open_{1};
  Mark mark_;
  std::array<Hazard, 2> hazards_;
};

template <class Gate, class Writer>
using write_gate_scenario = closing_scenario<gate_protocol<Gate, Writer>>;
template <class Mark, class Hazard>
using hazard_scenario = closing_scenario<hazard_protocol<Mark, Hazard>>;

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_CLOSING_SCENARIO_H_
