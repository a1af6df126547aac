#include <array>

#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/pattern.h"

namespace perf {
namespace {

// Batches 0, 1, 0, 1, ... of a channel, as the initiator sees them.
// Invariant: acknowledged <= complete <= posted <= acknowledged + way.batches()
class sender {
 public:
  sender(channel& way, uint64_t batches, histogram* samples)
      : way_(way), batches_(batches), samples_(samples) {}

  bool is_over() const { return acknowledged_ == batches_; }

  // Does what can be done now; false if that was nothing.
  bool step() {
    bool moved = false;
    if (posted_ < batches_ && posted_ - acknowledged_ < count()) {
      if (samples_ != nullptr) begun_[posted_ % 2] = now();
      way_.post_batch(batch(posted_));
      ++posted_;
      moved = true;
    }
    if (complete_ < posted_ && way_.batch_is_complete(batch(complete_))) {
      if (!way_.has_signal()) sample(complete_);
      ++complete_;
      moved = true;
    }
    if (acknowledged_ < complete_ && way_.next_is_acknowledged()) {
      if (way_.has_signal()) sample(acknowledged_);
      ++acknowledged_;
      moved = true;
    }
    return moved;
  }

 private:
  uint64_t count() const { return static_cast<uint64_t>(way_.batches()); }
  int batch(uint64_t index) const { return static_cast<int>(index % count()); }
  void sample(uint64_t index) {
    if (samples_ != nullptr) samples_->add(now() - begun_[index % 2]);
  }

  channel& way_;
  const uint64_t batches_;
  histogram* const samples_;
  uint64_t posted_ = 0;
  uint64_t complete_ = 0;
  uint64_t acknowledged_ = 0;
  std::array<uint64_t, 2> begun_{};
};

// The same as the target sees them.
class receiver {
 public:
  receiver(channel& way, uint64_t batches) : way_(way), batches_(batches) {}

  bool is_over() const { return taken_ == batches_; }

  bool step() {
    if (is_over()) return false;
    const auto count = static_cast<uint64_t>(way_.batches());
    const int batch = static_cast<int>(taken_ % count);
    if (!way_.batch_has_arrived(batch)) return false;
    way_.check_batch(batch);
    if (taken_ + count < batches_) way_.expect_batch(batch);
    ++taken_;
    way_.acknowledge();
    return true;
  }

 private:
  channel& way_;
  const uint64_t batches_;
  uint64_t taken_ = 0;
};

class stream final : public pattern {
 public:
  stream(bool is_initiator, bool is_target) : is_initiator_(is_initiator), is_target_(is_target) {}

  void prepare(channel& way, uint64_t n) const override {
    if (!learns(way) || n == 0) return;
    for (int batch = 0; batch < way.batches(); ++batch) way.expect_batch(batch);
  }

  uint64_t run(channel& way, uint64_t n, histogram* samples) const override {
    const uint64_t batches = n * static_cast<uint64_t>(way.batches());
    sender out(way, is_initiator_ ? batches : 0, samples);
    receiver in(way, learns(way) ? batches : 0);
    waiter patience;
    while (!out.is_over() || !in.is_over()) {
      const bool moved = out.step();
      // Progress comes last: what is here already needs none.
      patience.after(in.step() || moved || way.progress());
    }
    const uint64_t own_end = now();
    way.finish();
    // Such a target learns nothing before the end.
    return is_target_ && !learns(way) ? now() : own_end;
  }

 private:
  bool learns(const channel& way) const { return is_target_ && way.target_learns(); }

  const bool is_initiator_;
  const bool is_target_;
};

}  // namespace

std::unique_ptr<pattern> make_stream(bool is_initiator, bool is_target) {
  return std::make_unique<stream>(is_initiator, is_target);
}

}  // namespace perf
