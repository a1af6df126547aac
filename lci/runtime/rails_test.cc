// Puts that are spread over several devices, at every support level of signals.
#include <algorithm>
#include <stdexcept>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/signal_levels.h"

namespace lci {
namespace {

class Rails : public level_test {};
INSTANTIATE_TEST_SUITE_P(Forced, Rails, all_levels(), name_of_level);

// Each rank puts over `rails` devices to the next one, which polls its devices one after the other,
// in the order that `round` chooses of all there are: the signal comes with the last part, once.
TEST_P(Rails, ASignalComesOnceInWhateverOrderThePartsDo) {
  run_levels(2, [](rank_under_test& self) {
    constexpr int rails = 4;
    constexpr size_t size = 4 * 256 + 17;
    device_t devices[rails];
    for (device_t& each : devices) each = alloc_device_x().runtime(self.runtime)();
    open_memory out(self, size);
    open_memory in(self, size);
    const signal_of sent(self, 1), arrived(self, 1);
    const block_t mine =
        make_block_x(out.mr, 0, size).runtime(self.runtime).send_signal(sent.comp)();
    const block_t theirs =
        exchange(self, make_block_x(in.mr, 0, size)
                           .runtime(self.runtime)
                           .recv_signal(arrived.comp)())[static_cast<size_t>(self.to)];
    const auto progress = [&](device_t device) {
      progress_x().runtime(self.runtime).device(device)();
    };
    // All that has been posted has left for good.
    const auto drain = [&] {
      for (bool drained = false; !drained;) {
        drained = true;
        for (device_t each : devices) {
          if (test_drained_x().runtime(self.runtime).device(each)().is_done()) continue;
          progress(each);
          drained = false;
        }
      }
    };
    const bool striped = devices[0].get_attr_max_signal_parts() >= rails;
    const bool in_turn = striped && devices[0].get_attr_signal_needs_progress();
    int order[rails] = {0, 1, 2, 3};
    tag_t round = 0;
    do {
      ++round;
      if (simulated() && seed_choice(round, 4) != 0) continue;
      out.set(0, make_message(self.rank, round, size));
      static_cast<void>(post_put_block_x(mine, theirs).rails(devices, rails).rail_min_chunk(256)());
      // So that what a device polls is what arrives on it. (Where a rank puts to itself, its own
      // polls bring its parts already.)
      drain();
      self.meet();
      const auto& counter = static_cast<rt::event_signal*>(arrived.comp.p_impl)->counter();
      for (int i = 0; i < rails && in_turn && self.ranks > 1 && !simulated(); ++i) {
        EXPECT_FALSE(arrived.test()) << i << " of " << rails << " parts have come";
        const int64_t before = counter.get();
        while (counter.get() == before) progress(devices[order[i]]);
      }
      while (!arrived.test() || !sent.test()) {
        for (int i : order) progress(devices[i]);
      }
      EXPECT_TRUE(in.holds(0, make_message(self.from, round, size)));
      sent.reset();
      arrived.reset();
      drain();
      self.meet();
    } while (std::next_permutation(order, order + rails));
    for (device_t& each : devices) free_device_x{&each}.runtime(self.runtime)();
  });
}

TEST_P(Rails, RailsByAttributeAndByOperation) {
  runtime_attr_t attr;
  attr.nrails = 3;
  attr.rail_min_chunk = 1000;
  run_levels(
      3,
      [](rank_under_test& self) {
        const auto room = less_if_simulated<size_t>(200000, 5000);
        open_memory out(self, room);
        open_memory in(self, room);
        const signal_of sent(self, 1), arrived(self, 1);
        const size_t sizes[] = {0, 999, 2000, 2999, 3001, room};
        for (size_t size : sizes) {
          const block_t mine =
              make_block_x(out.mr, 0, size).runtime(self.runtime).send_signal(sent.comp)();
          const block_t theirs =
              exchange(self, make_block_x(in.mr, room - size, size)
                                 .runtime(self.runtime)
                                 .recv_signal(arrived.comp)())[static_cast<size_t>(self.to)];
          for (size_t chunk : {size_t{0}, size_t{64}, room}) {
            out.set(0, make_message(self.rank, size + chunk, size));
            static_cast<void>(
                post_put_block_x(mine, theirs).runtime(self.runtime).rail_min_chunk(chunk)());
            arrived.wait();
            EXPECT_TRUE(in.holds(room - size, make_message(self.from, size + chunk, size)));
            sent.wait();
            sent.reset();
            arrived.reset();
            self.meet();
          }
        }
        // Only a signal can aggregate: with another completion object one device is used, or the
        // call is refused.
        const block_t mine = make_block_x(out.mr, 0, room).runtime(self.runtime)();
        const block_t theirs = exchange(
            self,
            make_block_x(in.mr, 0, room).runtime(self.runtime)())[static_cast<size_t>(self.to)];
        status_t status;
        static_cast<void>(
            post_put_block_x(mine, theirs).runtime(self.runtime).local_comp(self.sync)());
        sync_wait_x(self.sync, &status).runtime(self.runtime)();
        EXPECT_TRUE(status.is_done());
        const device_t device = get_default_device_x().runtime(self.runtime)();
        const device_t both[] = {device, device};
        EXPECT_THROW(static_cast<void>(
                         post_put_block_x(mine, theirs).rails(both, 2).local_comp(self.sync)()),
                     std::invalid_argument);
        EXPECT_THROW(static_cast<void>(post_put_block_x(mine, theirs).rails(both, 17)()),
                     std::invalid_argument);
        self.meet();
      },
      attr);
}

}  // namespace
}  // namespace lci
