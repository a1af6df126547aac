// Blocks, puts and gets between them, and rails, at every support level of signals.
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/signal_levels.h"

namespace lci {
namespace {

class Levels : public level_test {};
INSTANTIATE_TEST_SUITE_P(Forced, Levels, all_levels(), name_of_level);

TEST_P(Levels, PutAndGetSignalBothSides) {
  run_levels(3, [](rank_under_test& self) {
    const auto room = less_if_simulated<size_t>(300000, 6000);
    open_memory memory(self, 2 * room);
    const signal_of sent(self, 1), arrived(self, 1), read(self, 1), got(self, 1);
    const size_t sizes[] = {0, 1, 64, 999, 5000, room};
    for (size_t size : sizes) {
      // From the first half to the second, and back.
      const size_t offset = (room - size) / 2;
      const block_t out = make_block_x(memory.mr, offset, size)
                              .runtime(self.runtime)
                              .send_signal(sent.comp)
                              .recv_signal(got.comp)();
      const block_t in = make_block_x(memory.mr, room + offset, size)
                             .runtime(self.runtime)
                             .recv_signal(arrived.comp)
                             .send_signal(read.comp)();
      const block_t theirs = exchange(self, in)[static_cast<size_t>(self.to)];
      const auto payload = make_message(self.rank, size, size);
      memory.set(offset, payload);
      const status_t put = post_put_block_x(out, theirs).runtime(self.runtime)();
      EXPECT_TRUE(put.is_posted());
      EXPECT_EQ(put.rank, self.to);
      EXPECT_EQ(put.size, size);
      arrived.wait();
      EXPECT_TRUE(memory.holds(room + offset, make_message(self.from, size, size)));
      sent.wait();
      memory.set(offset, std::vector<unsigned char>(size, 0));
      self.meet();
      EXPECT_TRUE(post_get_block_x(out, theirs).runtime(self.runtime)().is_posted());
      got.wait();
      EXPECT_TRUE(memory.holds(offset, payload)) << "what we put there";
      read.wait();
      for (const signal_of* each : {&sent, &arrived, &read, &got}) each->reset();
      self.meet();
      // Without a local signal it is complete when it returns.
      EXPECT_TRUE(
          post_put_block_x(make_block_x(memory.mr, offset, size).runtime(self.runtime)(), theirs)
              .runtime(self.runtime)()
              .is_done());
      arrived.wait();
      arrived.reset();
      self.meet();
    }
  });
}

TEST_P(Levels, OneSignalCountsThePutsOfAllRanks) {
  run_levels(4, [](rank_under_test& self) {
    const auto ranks = static_cast<size_t>(self.ranks);
    constexpr size_t part = 200;
    open_memory memory(self, part * ranks);
    open_memory local(self, part);
    const signal_of arrived(self, self.ranks);
    const block_t own =
        make_block_x(memory.mr, 0, part * ranks).runtime(self.runtime).recv_signal(arrived.comp)();
    const auto all = exchange(self, own);
    comp_t count = alloc_counter_x().runtime(self.runtime)();
    const block_t mine = make_block_x(local.mr, 0, part).runtime(self.runtime)();
    for (tag_t round = 1; round <= 3; ++round) {
      local.set(0, make_message(self.rank, round, part));
      for (const block_t& each : all) {
        const block_t to =
            sub_block_x(each, part * static_cast<size_t>(self.rank), part).runtime(self.runtime)();
        static_cast<void>(post_put_block_x(mine, to).runtime(self.runtime).local_comp(count)());
      }
      arrived.wait();
      for (size_t r = 0; r < ranks; ++r) {
        EXPECT_TRUE(memory.holds(part * r, make_message(static_cast<int>(r), round, part)));
      }
      arrived.reset();
      while (counter_get_x(count).runtime(self.runtime)() < self.ranks * static_cast<int>(round)) {
        progress_x().runtime(self.runtime)();
      }
      self.meet();
    }
    free_comp_x{&count}.runtime(self.runtime)();
  });
}

TEST_P(Levels, AProgressThreadIsEnoughForWhoOnlyWaits) {
  if (simulated()) return;  // the ranks take turns there
  global_attr_t defaults = level();
  defaults.progress_thread = true;
  run(
      2,
      [](rank_under_test& self) {
        open_memory out(self, 100000), in(self, 100000);
        const signal_of sent(self, 1), arrived(self, 1);
        const block_t own = make_block_x(in.mr, 0, in.bytes.size())
                                .runtime(self.runtime)
                                .recv_signal(arrived.comp)();
        const block_t theirs = exchange(self, own)[static_cast<size_t>(self.to)];
        const block_t mine = make_block_x(out.mr, 0, out.bytes.size())
                                 .runtime(self.runtime)
                                 .send_signal(sent.comp)();
        for (tag_t round = 1; round <= 5; ++round) {
          out.set(0, make_message(self.rank, round, out.bytes.size()));
          self.meet();
          static_cast<void>(post_put_block_x(mine, theirs).runtime(self.runtime)());
          for (const signal_of* each : {&arrived, &sent}) {
            signal_wait_x(each->comp).runtime(self.runtime).do_progress(false)();
          }
          EXPECT_EQ(in.bytes, make_message(self.from, round, in.bytes.size()));
          sent.reset();
          arrived.reset();
          self.meet();
        }
      },
      defaults);
}

TEST_P(Levels, MoreEventsThanPromisedAreFound) {
  run_levels(2, [](rank_under_test& self) {
    open_memory memory(self, 64);
    comp_t arrived = alloc_signal_x(1).runtime(self.runtime).name("halo")();
    const block_t own = make_block_x(memory.mr, 0, 8).runtime(self.runtime).recv_signal(arrived)();
    const block_t theirs = exchange(self, own)[static_cast<size_t>(self.to)];
    const block_t mine = make_block_x(memory.mr, 8, 8).runtime(self.runtime)();
    for (int i = 0; i < 2; ++i)
      static_cast<void>(post_put_block_x(mine, theirs).runtime(self.runtime)());
    std::string text;
    for (int i = 0; i < 1000000 && text.empty(); ++i) {
      try {
        progress_x().runtime(self.runtime)();
        signal_test_x(arrived).runtime(self.runtime)();
      } catch (const std::logic_error& error) {
        text = error.what();
      }
    }
    EXPECT_NE(text.find("\"halo\" of rank " + std::to_string(self.rank) +
                        ": of 1 events promised 2 have come"),
              std::string::npos)
        << text;
    self.meet();
    free_comp_x{&arrived}.runtime(self.runtime)();
  });
}

TEST_P(Levels, MistakesAreNamedAndChangeNothing) {
  run_levels(2, [](rank_under_test& self) {
    open_memory memory(self, 100);
    auto local = std::make_unique<open_memory>(self, 100);
    auto sent = std::make_unique<signal_of>(self, 1);
    const block_t mine =
        make_block_x(local->mr, 0, 50).runtime(self.runtime).send_signal(sent->comp)();
    const block_t theirs = exchange(
        self, make_block_x(memory.mr, 0, 50).runtime(self.runtime)())[static_cast<size_t>(self.to)];
    const auto expect_refused = [&](const block_t& from, const block_t& to,
                                    const std::string& words) {
      try {
        static_cast<void>(post_put_block_x(from, to).runtime(self.runtime)());
        ADD_FAILURE() << "nothing was thrown for " << words;
      } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      }
    };
    expect_refused(
        mine, sub_block_x(theirs, 10, 20).runtime(self.runtime)(),
        "the local block has 50 bytes, and that of rank " + std::to_string(self.to) + " 20");
    expect_refused(block_t(), theirs, "the local block is empty");
    expect_refused(mine, block_t(), "the remote block is empty");
    block_t odd = theirs;
    odd.rank = self.ranks;
    expect_refused(mine, odd, "the remote block is of rank");
    if (self.ranks > 1) expect_refused(theirs, mine, "the local block is rank");
    odd = theirs;
    odd.network[0] = 7;
    expect_refused(mine, odd, "the remote block is not registered in net context 0");
    EXPECT_THROW(make_block_x(local->mr, 60, 50).runtime(self.runtime)(), std::invalid_argument);
    EXPECT_THROW(make_block_x(mr_t(), 0, 0).runtime(self.runtime)(), std::invalid_argument);
    EXPECT_THROW(make_block_x(local->mr, 0, 1).runtime(self.runtime).send_signal(self.sync)(),
                 std::invalid_argument);
    EXPECT_THROW(make_block_x(local->mr, 0, 1).runtime(self.runtime).also(local->mr)(),
                 std::invalid_argument);
    EXPECT_THROW(sub_block_x(theirs, 40, 11).runtime(self.runtime)(), std::invalid_argument);
    sent.reset();
    expect_refused(mine, theirs, "the signal of the local block has been freed");
    const block_t plain = make_block_x(local->mr, 0, 50).runtime(self.runtime)();
    local.reset();
    expect_refused(plain, theirs, "the memory of the local block has been deregistered");
    self.meet();
    EXPECT_EQ(memory.bytes, std::vector<unsigned char>(100, 0));
  });
}

TEST_P(Levels, AStaleRemoteBlockIsAnError) {
  run_levels(2, [](rank_under_test& self) {
    open_memory local(self, 50);
    open_memory memory(self, 50);
    signal_of arrived(self, 1);
    const block_t mine = make_block_x(local.mr, 0, 50).runtime(self.runtime)();
    const block_t theirs =
        exchange(self, make_block_x(memory.mr, 0, 50)
                           .runtime(self.runtime)
                           .recv_signal(arrived.comp)())[static_cast<size_t>(self.to)];
    // Its signal: found where the put of rank 0 arrives. (That was the last one of its page of
    // counters, so that it is out of reach, too.)
    const int target = self.ranks - 1;
    const uint32_t number = get_rsignal_x(arrived.comp).runtime(self.runtime)().number;
    char go = 0;
    std::string text;
    self.meet();
    if (self.rank == target) {
      free_comp_x{&arrived.comp}.runtime(self.runtime)();
      if (target != 0)
        static_cast<void>(post_send_x(0, &go, 1, 1, COMP_NULL).runtime(self.runtime)());
    }
    if (self.rank == 0) {
      if (target != 0)
        static_cast<void>(post_recv_x(target, &go, 1, 1, COMP_NULL).runtime(self.runtime)());
      try {
        static_cast<void>(post_put_block_x(mine, theirs).runtime(self.runtime)());
      } catch (const std::runtime_error& error) {  // it has arrived here while we waited for it
        text = error.what();
      }
    }
    if (self.rank == target) {
      if (text.empty()) text = progress_until_throw<std::runtime_error>(self.runtime);
      EXPECT_NE(text.find("for signal number " + std::to_string(number)), std::string::npos)
          << text;
    }
    self.meet();
    // Its memory.
    deregister_memory_x{&memory.mr}.runtime(self.runtime)();
    self.meet();
    block_t silent = theirs;
    silent.recv_signal = rsignal_t();
    EXPECT_THROW(static_cast<void>(post_put_block_x(mine, silent).runtime(self.runtime)()),
                 std::runtime_error);
    self.meet();
  });
}

TEST_P(Levels, LimitsAreReported) {
  run_levels(1, [](rank_under_test& self) {
    const device_t device = get_default_device_x().runtime(self.runtime)();
    const int level = device.get_attr_signal_level();
    const net::device_limits& limits = device.p_impl->net->limits();
    const int bits = limits.has_put_imm ? limits.put_imm_bits : 0;
    if (GetParam() >= 0) {
      EXPECT_EQ(level, GetParam());
    } else {
      EXPECT_EQ(level, limits.has_add ? 4 : bits == 64 ? 3 : bits == 32 ? 2 : bits > 0 ? 1 : 0);
    }
    EXPECT_EQ(device.get_attr_signal_needs_progress(), level < 4 || !limits.has_add);
    const uint64_t all = ~uint32_t{0};
    switch (level) {
      case 0:
        EXPECT_EQ(device.get_attr_max_signals(), all);
        EXPECT_EQ(device.get_attr_max_signal_parts(), all);
        break;
      case 1:
        EXPECT_EQ(device.get_attr_max_signals(), bits == 0 ? 0 : bits == 8 ? 255u : 65535u);
        EXPECT_EQ(device.get_attr_max_signal_parts(), 1u);
        break;
      case 2:
        if (bits == 32) {
          EXPECT_EQ(device.get_attr_max_signals(), (uint64_t{1} << 22) - 1);
          EXPECT_EQ(device.get_attr_max_signal_parts(), 255u);
        }
        break;
      default:
        EXPECT_EQ(device.get_attr_max_signal_parts(), all);
    }
  });
}

}  // namespace
}  // namespace lci
