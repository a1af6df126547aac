#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/pattern.h"

namespace perf {
namespace {

class pingpong final : public pattern {
 public:
  explicit pingpong(bool first) : first_(first) {}

  void prepare(channel& way, uint64_t n) const override {
    if (n > 0) way.expect_batch(0);
  }

  uint64_t run(channel& way, uint64_t n, histogram* samples) const override {
    uint64_t posted = 0;
    const auto serve = [&] {
      if (samples == nullptr) return way.post_batch(0);
      const uint64_t at = now();
      way.post_batch(0);
      // The partner does not wait for the bookkeeping.
      if (posted > 0) samples->add(at - posted);
      posted = at;
    };
    // Where it may, the program sends first and then gets ready for the answer, as programs do that
    // call a blocking send and a blocking receive.
    const bool late = way.may_expect_late();
    for (uint64_t i = 0; i < n; ++i) {
      if (first_) {
        serve();
        if (late && i > 0) way.expect_batch(0);
      }
      way.wait_until([&way] { return way.batch_has_arrived(0); });
      way.check_batch(0);
      if (!late && i + 1 < n) way.expect_batch(0);
      if (!first_) {
        serve();
        if (late && i + 1 < n) way.expect_batch(0);
      }
      way.wait_until([&way] { return way.batch_is_complete(0); });
    }
    const uint64_t end = now();
    if (samples != nullptr && first_ && n > 0) samples->add(end - posted);
    way.finish();
    return end;
  }

 private:
  const bool first_;
};

}  // namespace

std::unique_ptr<pattern> make_pingpong(bool first) { return std::make_unique<pingpong>(first); }

}  // namespace perf
