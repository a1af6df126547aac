// Plans, and sends and receives turned into them, at every support level of signals.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/signal_levels.h"

namespace lci {
namespace {

class Plans : public level_test {};
INSTANTIATE_TEST_SUITE_P(Forced, Plans, all_levels(), name_of_level);

struct resources {
  explicit resources(const rank_under_test& self, size_t size)
      : runtime(self.runtime),
        out(size),
        in(size),
        out_mr(register_memory_x(out.data(), size).runtime(runtime)()),
        in_mr(register_memory_x(in.data(), size).runtime(runtime)()) {}
  ~resources() {
    for (mr_t* each : {&out_mr, &in_mr}) deregister_memory_x{each}.runtime(runtime)();
  }
  void set(const std::vector<unsigned char>& to) { std::copy(to.begin(), to.end(), out.begin()); }

  const runtime_t runtime;
  std::vector<unsigned char> out, in;
  mr_t out_mr, in_mr;
};

TEST_P(Plans, AreStartedManyTimes) {
  run_levels(3, [](rank_under_test& self) {
    constexpr size_t n = 5;
    const auto size = less_if_simulated<size_t>(20000, 1500);
    resources with(self, n * size);
    const runtime_t runtime = self.runtime;
    comp_t finished = alloc_signal_x(1).runtime(runtime).name("finished")();
    comp_t arrived = alloc_signal_x(n).runtime(runtime).name("arrived")();
    comp_t got = alloc_signal_x(1).runtime(runtime).name("got")();
    plan_t plan = alloc_plan_x().runtime(runtime).comp(finished).name("ring")();
    EXPECT_NE(runtime.p_impl->left_over().find("1 plan"), std::string::npos);
    const block_t own =
        make_block_x(with.in_mr, 0, n * size).runtime(runtime).recv_signal(arrived)();
    std::vector<block_t> all(static_cast<size_t>(self.ranks));
    allgather_x(&own, all.data(), sizeof(own)).runtime(runtime)();
    block_t theirs = all[static_cast<size_t>(self.to)];
    const block_t mine = make_block_x(with.out_mr, 0, n * size).runtime(runtime)();
    for (size_t i = 0; i < n; ++i) {
      plan_put_x(plan, sub_block_x(mine, i * size, size).runtime(runtime)(),
                 sub_block_x(theirs, i * size, size).runtime(runtime)())();
    }
    // And one word back from the same rank's memory that we write to.
    std::vector<unsigned char> back(8);
    mr_t back_mr = register_memory_x(back.data(), back.size()).runtime(runtime)();
    const block_t word = make_block_x(back_mr, 0, 8).runtime(runtime).recv_signal(got)();
    std::vector<unsigned char> shown(8);
    mr_t seen_mr = register_memory_x(shown.data(), shown.size()).runtime(runtime)();
    const block_t seen = make_block_x(seen_mr, 0, 8).runtime(runtime)();
    allgather_x(&seen, all.data(), sizeof(seen)).runtime(runtime)();
    plan_get(plan, word, all[static_cast<size_t>(self.to)]);
    EXPECT_EQ(plan.get_attr_plan_size(), n + 1);
    EXPECT_TRUE(plan_test(plan)) << "it has not been started";
    for (tag_t round = 1; round <= 4; ++round) {
      with.set(make_message(self.rank, round, n * size));
      shown[0] = static_cast<unsigned char>(round * 16 + static_cast<tag_t>(self.rank));
      self.meet();
      plan_start(plan);
      signal_wait_x(arrived).runtime(runtime)();
      EXPECT_EQ(with.in, make_message(self.from, round, n * size));
      signal_wait_x(finished).runtime(runtime)();
      EXPECT_TRUE(plan_test(plan));
      EXPECT_TRUE(signal_test_x(got).runtime(runtime)());
      EXPECT_EQ(back[0], static_cast<unsigned char>(round * 16 + static_cast<tag_t>(self.to)));
      for (comp_t each : {finished, arrived, got}) signal_reset_x(each).runtime(runtime)();
      self.meet();
    }
    free_plan(&plan);
    EXPECT_TRUE(plan.is_empty());
    deregister_memory_x{&back_mr}.runtime(runtime)();
    deregister_memory_x{&seen_mr}.runtime(runtime)();
    for (comp_t* each : {&finished, &arrived, &got}) free_comp_x{each}.runtime(runtime)();
  });
}

TEST_P(Plans, MistakesAreNamed) {
  run_levels(1, [](rank_under_test& self) {
    const runtime_t runtime = self.runtime;
    resources with(self, 100);
    plan_t plan = alloc_plan_x().runtime(runtime).name("odd")();
    std::vector<unsigned char> bytes(10);
    mr_t gone = register_memory_x(bytes.data(), bytes.size()).runtime(runtime)();
    const block_t ten = make_block_x(gone, 0, 10).runtime(runtime)();
    const block_t to = make_block_x(with.in_mr, 0, 10).runtime(runtime)();
    EXPECT_THROW(plan_put(plan, ten, make_block_x(with.in_mr, 0, 11).runtime(runtime)()),
                 std::invalid_argument);
    plan_put(plan, ten, to);
    plan_start(plan);
    while (!plan_test(plan)) progress_x().runtime(runtime)();
    deregister_memory_x{&gone}.runtime(runtime)();
    EXPECT_THROW(plan_start(plan), std::invalid_argument);
    EXPECT_TRUE(plan_test(plan)) << "what was refused has changed nothing";
    plan_t stale = plan;
    free_plan(&plan);
    EXPECT_THROW(plan_start(stale), std::invalid_argument);
    EXPECT_THROW(plan_start(plan), std::invalid_argument);

    // A peer's memory that is closed ends the plan.
    comp_t finished = alloc_signal_x(1).runtime(runtime).name("finished")();
    plan = alloc_plan_x().runtime(runtime).comp(finished)();
    mr_t closed = register_memory_x(bytes.data(), bytes.size()).runtime(runtime)();
    plan_put(plan, to, make_block_x(closed, 0, 10).runtime(runtime)());
    deregister_memory_x{&closed}.runtime(runtime)();
    plan_start(plan);
    EXPECT_THROW(signal_wait_x(finished).runtime(runtime)(), std::runtime_error);
    EXPECT_THROW(plan_test(plan), std::runtime_error);
    free_plan(&plan);
    free_comp_x{&finished}.runtime(runtime)();
  });
}

// A face of a three-dimensional array to one of another shape, over rails, too.
TEST_P(Plans, LayoutsAreSentAndReceived) {
  for (int rails : {1, 2}) {
    runtime_attr_t attr;
    attr.nrails = rails;
    attr.rail_min_chunk = 8;
    run_levels(
        3,
        [](rank_under_test& self) {
          const runtime_t runtime = self.runtime;
          resources with(self, 2000);
          // 6 groups of 4 pieces of 8 bytes; into 2 pieces of 96.
          const layout_t from{16, 8, 4, 24, 6, 200};
          const layout_t into{100, 96, 2, 1000};
          ASSERT_EQ(from.size(), into.size());
          comp_t sent = alloc_signal_x(1).runtime(runtime).name("sent")();
          comp_t arrived = alloc_signal_x(1).runtime(runtime).name("arrived")();
          plan_t plan = alloc_plan_x().runtime(runtime)();
          convert_sendrecv(plan, with.out_mr, from, self.to, with.in_mr, into, self.from, 7, sent,
                           arrived);
          for (tag_t round = 1; round <= 3; ++round) {
            with.set(make_message(self.rank, round, with.out.size()));
            self.meet();
            plan_start(plan);
            signal_wait_x(arrived).runtime(runtime)();
            const auto theirs = make_message(self.from, round, with.out.size());
            std::vector<unsigned char> expected(with.in.size(), 0);
            for (size_t i = 0; i < from.size(); ++i) {
              const size_t source = from.offset + i / 32 * 200 + i / 8 % 4 * 24 + i % 8;
              expected[into.offset + i / 96 * 1000 + i % 96] = theirs[source];
            }
            EXPECT_EQ(with.in, expected);
            signal_wait_x(sent).runtime(runtime)();
            for (comp_t each : {sent, arrived}) signal_reset_x(each).runtime(runtime)();
            self.meet();
          }
          free_plan(&plan);
          // Sizes that differ are an error at the sender.
          plan = alloc_plan_x().runtime(runtime)();
          convert_recv(with.in_mr, {0, 10}, self.from, 8, arrived);
          EXPECT_THROW(convert_send(plan, with.out_mr, {0, 11}, self.to, 8, sent),
                       std::invalid_argument);
          self.meet();
          free_plan(&plan);
          for (comp_t* each : {&sent, &arrived}) free_comp_x{each}.runtime(runtime)();
        },
        attr);
  }
}

TEST_P(Plans, AllToAllWithDifferentSizes) {
  run_levels(4, [](rank_under_test& self) {
    const runtime_t runtime = self.runtime;
    const auto ranks = static_cast<size_t>(self.ranks);
    const auto me = static_cast<size_t>(self.rank);
    constexpr size_t room = 400;
    resources with(self, room * ranks);
    // From rank a to rank b: as many pieces of 10 bytes as both numbers together; at the sender
    // every other 10 bytes, at the receiver in one piece. Rank 0 sends itself nothing.
    std::vector<layout_t> out, in;
    for (size_t r = 0; r < ranks; ++r) {
      out.push_back({r * room, 10, r + me, 20});
      in.push_back({r * room, 10 * (r + me)});
    }
    comp_t sent = alloc_signal_x(self.ranks).runtime(runtime).name("sent")();
    comp_t arrived = alloc_signal_x(self.ranks).runtime(runtime).name("arrived")();
    plan_t plan = alloc_plan_x().runtime(runtime)();
    convert_alltoallv(plan, with.out_mr, out.data(), with.in_mr, in.data(), sent, arrived);
    for (tag_t round = 1; round <= 3; ++round) {
      with.set(make_message(self.rank, round, with.out.size()));
      self.meet();
      plan_start(plan);
      signal_wait_x(arrived).runtime(runtime)();
      for (size_t r = 0; r < ranks; ++r) {
        for (size_t i = 0; i < 10 * (r + me); ++i) {
          const size_t source = me * room + i / 10 * 20 + i % 10;
          ASSERT_EQ(with.in[r * room + i], pattern(static_cast<int>(r), round, source));
        }
      }
      signal_wait_x(sent).runtime(runtime)();
      for (comp_t each : {sent, arrived}) signal_reset_x(each).runtime(runtime)();
      self.meet();
    }
    free_plan(&plan);
    for (comp_t* each : {&sent, &arrived}) free_comp_x{each}.runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
