// Several eager messages that one poll finds, which the matching engine handles together.
#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class MessageRuns : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFourRanks, MessageRuns, testing::ValuesIn(one_to(4)));

void send(const rank_under_test& self, uint64_t value, tag_t tag) {
  const status_t status = accepted(
      post_send_x(self.to, &value, sizeof(value), tag, COMP_NULL_RETRY).runtime(self.runtime));
  ASSERT_TRUE(status.is_done());
}

void receive(const rank_under_test& self, uint64_t* place, tag_t tag, comp_t comp,
             size_t size = sizeof(uint64_t)) {
  const status_t status =
      post_recv_x(self.from, place, size, tag, comp).user_context(place).runtime(self.runtime)();
  ASSERT_TRUE(status.is_posted()) << "the message was sent before its receive was there";
}

// Messages are handled together once a thread has used the matching engine alone for some time.
void use_engine_alone(rank_under_test* self) {
  uint64_t place = 0;
  for (uint64_t i = 0; i < less_if_simulated<uint64_t>(600, 10); ++i) {
    receive(*self, &place, 0, self->queue);
    self->meet();
    send(*self, i, 0);
    EXPECT_EQ(self->pop().buffer, &place);
    EXPECT_EQ(place, i);
    self->meet();
  }
}

TEST_P(MessageRuns, EachMessageMeetsItsReceive) {
  run(ranks(), [](rank_under_test& self) {
    use_engine_alone(&self);
    constexpr tag_t with_header = tag_t{1} << 40;
    constexpr tag_t unexpected = 1 << 20;  // its receive is posted later
    // (The first word of a message with a header has a small number, too.)
    constexpr std::array<tag_t, 20> tags = {
        1, 1, 2, 1, unexpected, with_header,    2, 2, with_header + 1, 1,
        3, 4, 1, 2, 1,          unexpected + 1, 1, 1, unexpected,      1};
    const auto is_unexpected = [](tag_t tag) { return (tag & unexpected) != 0; };
    for (uint64_t round = 0; round < 10; ++round) {
      std::array<uint64_t, tags.size()> places{};
      size_t expected = 0;
      for (size_t i = 0; i < tags.size(); ++i) {
        if (is_unexpected(tags[i])) continue;
        receive(self, &places[i], tags[i], self.queue);
        ++expected;
      }
      self.meet();
      for (size_t i = 0; i < tags.size(); ++i) send(self, round << 32 | (i + 1), tags[i]);
      for (; expected > 0; --expected) {
        const status_t status = self.pop();
        ASSERT_TRUE(status.is_done());
        const auto index = static_cast<size_t>(static_cast<uint64_t*>(status.buffer) - &places[0]);
        EXPECT_EQ(status.user_context, status.buffer);
        EXPECT_EQ(status.rank, self.from);
        EXPECT_EQ(status.tag, tags[index]);
        EXPECT_EQ(status.size, sizeof(uint64_t));
        EXPECT_EQ(places[index], round << 32 | (index + 1)) << "oldest first of each tag";
      }
      for (size_t i = 0; i < tags.size(); ++i) {
        if (!is_unexpected(tags[i])) continue;
        const status_t status =
            post_recv_x(self.from, &places[i], sizeof(uint64_t), tags[i], COMP_NULL)
                .runtime(self.runtime)();
        EXPECT_TRUE(status.is_done());
        EXPECT_EQ(places[i], round << 32 | (i + 1));
      }
      self.meet();
    }
  });
}

// What the handlers of a rank, which is a thread, have found.
thread_local std::vector<uint64_t> found;
thread_local const rank_under_test* rank_of_handler = nullptr;
thread_local comp_t handler_of_rank;
thread_local bool handler_throws = false;  // never inside a call that waits

void throw_for_every_third(status_t status) {
  const uint64_t value = *static_cast<uint64_t*>(status.buffer);
  found.push_back(value);
  if (handler_throws && value % 3 == 0)
    throw std::runtime_error("of message " + std::to_string(value));
}

TEST_P(MessageRuns, ExceptionsOfHandlersLoseNoMessage) {
  run(ranks(), [](rank_under_test& self) {
    use_engine_alone(&self);
    comp_t handler = alloc_handler_x(throw_for_every_third).runtime(self.runtime)();
    constexpr uint64_t count = 12;
    std::array<uint64_t, count> places{};
    found.clear();
    for (uint64_t i = 0; i < count; ++i) receive(self, &places[i], i, handler);
    self.meet();
    for (uint64_t i = 0; i < count; ++i) send(self, i, i);
    const size_t early = found.size();
    std::vector<std::string> thrown;
    handler_throws = true;
    while (found.size() < count) {
      try {
        progress_x().runtime(self.runtime)();
      } catch (const std::runtime_error& error) {
        thrown.emplace_back(error.what());
      }
    }
    handler_throws = false;
    if (!simulated()) {
      EXPECT_EQ(early == 0, !thrown.empty() && thrown[0] == "of message 0");
    }
    std::sort(found.begin(), found.end());
    for (uint64_t i = 0; i < count; ++i) EXPECT_EQ(found[i], i);
    wait_drained_x().runtime(self.runtime)();
    self.meet();
    free_comp_x{&handler}.runtime(self.runtime)();
  });
}

// Receives that complete in different objects, alternating and several in a row.
TEST_P(MessageRuns, EachReceiveSignalsItsOwnObject) {
  run(ranks(), [](rank_under_test& self) {
    use_engine_alone(&self);
    comp_t other = alloc_cq_x().runtime(self.runtime)();
    comp_t bounded = alloc_cq_x().cq_type(attr_cq_type_t::array_atomic).runtime(self.runtime)();
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    constexpr uint64_t count = 16;
    const std::array<comp_t, count> of = {
        self.queue, self.queue, self.queue, other,   counter, other,      bounded, bounded,
        bounded,    counter,    counter,    counter, other,   self.queue, other,   other};
    for (uint64_t round = 0; round < 10; ++round) {
      std::array<uint64_t, count> places{};
      for (uint64_t i = 0; i < count; ++i) receive(self, &places[i], 1, of[i]);
      self.meet();
      for (uint64_t i = 0; i < count; ++i) send(self, 100 * round + i, 1);
      for (const comp_t from : {self.queue, other, bounded}) {
        for (uint64_t i = 0; i < count; ++i) {
          if (!(of[i] == from)) continue;
          status_t status;
          do {
            progress_x().runtime(self.runtime)();
            status = cq_pop_x(from).runtime(self.runtime)();
          } while (status.is_retry());
          EXPECT_EQ(status.buffer, &places[i]) << "in the order of the messages";
          EXPECT_EQ(places[i], 100 * round + i);
        }
        EXPECT_TRUE(cq_pop_x(from).runtime(self.runtime)().is_retry());
      }
      while (counter_get_x(counter).runtime(self.runtime)() < 4) {
        progress_x().runtime(self.runtime)();
      }
      EXPECT_EQ(counter_get_x(counter).runtime(self.runtime)(), 4);
      counter_set_x(counter, 0).runtime(self.runtime)();
      wait_drained_x().runtime(self.runtime)();
      self.meet();
    }
    for (comp_t* comp : {&other, &bounded, &counter}) free_comp_x{comp}.runtime(self.runtime)();
  });
}

TEST_P(MessageRuns, AMessageThatIsTooLongEndsItsOwnReceiveOnly) {
  run(ranks(), [](rank_under_test& self) {
    use_engine_alone(&self);
    constexpr uint64_t count = 6;
    constexpr uint64_t too_short = 2;
    std::array<uint64_t, count> places{};
    for (uint64_t i = 0; i < count; ++i) {
      receive(self, &places[i], 7, self.queue, i == too_short ? 4 : sizeof(uint64_t));
    }
    self.meet();
    for (uint64_t i = 0; i < count; ++i) send(self, i + 1, 7);
    for (uint64_t i = 0; i < count; ++i) {
      const status_t status = self.pop();
      EXPECT_EQ(status.user_context, &places[i]);
      EXPECT_EQ(status.is_done(), i != too_short);
      EXPECT_EQ(places[i], i == too_short ? 0 : i + 1);
    }
    self.meet();
  });
}

void post_again(status_t status) {
  auto* const place = static_cast<uint64_t*>(status.buffer);
  found.push_back(*place);
  receive(*rank_of_handler, place, 9, handler_of_rank);
}

TEST_P(MessageRuns, AHandlerPostsTheNextReceive) {
  run(ranks(), [](rank_under_test& self) {
    use_engine_alone(&self);
    comp_t handler = alloc_handler_x(post_again).runtime(self.runtime)();
    handler_of_rank = handler;
    rank_of_handler = &self;
    found.clear();
    constexpr size_t receives = 4;
    constexpr size_t count = 50;
    std::array<uint64_t, receives> places{};
    for (uint64_t& place : places) receive(self, &place, 9, handler);
    self.meet();
    for (uint64_t i = 0; i < count; ++i) send(self, i, 9);
    while (found.size() < count) progress_x().runtime(self.runtime)();
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(found[i], i);
    // The receives that wait need a message each.
    handler_of_rank = self.queue;
    self.meet();
    for (uint64_t i = 0; i < receives; ++i) send(self, count + i, 9);
    while (found.size() < count + receives) progress_x().runtime(self.runtime)();
    for (uint64_t i = 0; i < receives; ++i) send(self, i, 9);
    for (uint64_t i = 0; i < receives; ++i) EXPECT_TRUE(self.pop().is_done());
    self.meet();
    free_comp_x{&handler}.runtime(self.runtime)();
  });
}

}  // namespace
}  // namespace lci
