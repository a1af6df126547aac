// Writers to memory whose owner closes it.
#ifndef LCI_TESTING_SCENARIOS_WRITE_GATE_SCENARIO_H_
#define LCI_TESTING_SCENARIOS_WRITE_GATE_SCENARIO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/base/strings.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"

namespace lci::ds::explorer {

// Thread 0 closes its memory, and uses it when nobody writes there. Each other thread writes to a
// part of its own, twice. Gate and Writer are basic_write_gate and basic_gated_writer.
template <class Gate, class Writer>
class write_gate_scenario : public scenario {
 public:
  // `writers`: at most 2.
  explicit write_gate_scenario(size_t writers) : writers_(writers) {}
  size_t threads() const override { return writers_ + 1; }
  void run(size_t number) override {
    if (number == 0) return close();
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto write = [&] {
        scheduled_atomics::plain_write(&parts_[number - 1], sizeof(size_t));
        ++parts_[number - 1];
        return true;
      };
      if (sides_[number - 1].write(gate_, 0, write)) ++written_[number - 1];
    }
  }
  std::string finish() override {
    for (size_t i = 0; i < writers_; ++i) {
      if (parts_[i] != written_[i]) return base::StrCat(parts_[i], " writes of ", written_[i]);
    }
    return "";
  }

 private:
  void close() {
    gate_.close();
    for (size_t i = 0; i < writers_; ++i) {
      while (sides_[i].writes_to(0)) scheduled_atomics::pause();
      scheduled_atomics::plain_read(&parts_[i], sizeof(size_t));
      scheduled_atomics::plain_write(&parts_[i], sizeof(size_t));
    }
  }

  const size_t writers_;
  Gate gate_;
  std::array<Writer, 2> sides_;
  std::array<size_t, 2> parts_{};
  std::array<size_t, 2> written_{};
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_SCENARIOS_WRITE_GATE_SCENARIO_H_
