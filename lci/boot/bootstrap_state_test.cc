// The state of a job without sockets: orders of frames that real connections produce only by
// chance.
#include "lci/boot/bootstrap_state.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/tcp_wire.h"

namespace lci::boot {
namespace {

using tcp_wire::code;
using tcp_wire::kind;

struct answer {
  int rank;
  uint32_t request;
  code result;
};

class bootstrap_state_test : public testing::Test, private bootstrap_state::output {
 protected:
  void hello(int rank, uint32_t request) {
    state_.hello(request, {static_cast<uint32_t>(rank), 2, 0, 0, "node"});
  }
  bool cancel(int rank, uint32_t request) { return state_.frame(rank, kind::cancel, request, ""); }
  // The messages that were sent since the last call.
  std::vector<answer> take() { return std::exchange(sent_, {}); }

  bootstrap_state state_{2, "job", this};
  size_t sent_before_start_ = 99;
  int rounds_ = 0;  // that a rank has waited in
  std::vector<std::string> warnings_;

 private:
  void send(int rank, kind what, uint32_t request, bootstrap_state::shared_body body) override {
    if (what == kind::missing) return warnings_.push_back(base::StrCat("to ", rank, ": ", *body));
    ASSERT_EQ(what, kind::reply);
    ASSERT_FALSE(body->empty());
    sent_.push_back({rank, request, static_cast<code>((*body)[0])});
  }

  void waiting() override { ++rounds_; }
  void starting() override { sent_before_start_ = sent_.size(); }

  std::vector<answer> sent_;
};

TEST_F(bootstrap_state_test, a_round_starts_when_all_ranks_have_said_hello) {
  hello(0, 1);
  EXPECT_TRUE(take().empty());
  hello(1, 1);
  EXPECT_EQ(sent_before_start_, 0u);
  const std::vector<answer> sent = take();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].result, code::ok);
  EXPECT_EQ(sent[1].result, code::ok);
}

TEST_F(bootstrap_state_test, the_first_rank_that_waits_is_warned_of_the_missing_ones) {
  constexpr std::chrono::seconds waited{10};
  EXPECT_FALSE(state_.warn_of_missing(waited));
  EXPECT_EQ(rounds_, 0);
  hello(1, 1);
  EXPECT_EQ(rounds_, 1);
  EXPECT_TRUE(state_.warn_of_missing(waited));
  EXPECT_THAT(warnings_, testing::ElementsAre("to 1: rank 1 has waited 10 s for the start of the "
                                              "job: rank 0 did not arrive yet"));
  hello(0, 1);
  EXPECT_EQ(rounds_, 1);
  EXPECT_FALSE(state_.warn_of_missing(waited)) << "it has started";
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(bootstrap_state_test, a_rank_that_is_early_for_the_next_round_waits_in_it) {
  hello(0, 1);
  hello(1, 1);
  ASSERT_TRUE(state_.frame(1, kind::leave, 0, ""));
  hello(1, 2);
  EXPECT_FALSE(state_.warn_of_missing(std::chrono::seconds(10)));
  EXPECT_EQ(rounds_, 1);
  ASSERT_TRUE(state_.frame(0, kind::leave, 0, ""));
  EXPECT_EQ(rounds_, 2);
  EXPECT_TRUE(state_.warn_of_missing(std::chrono::seconds(10)));
}

// The rank that gave up would wait for an answer to nothing.
TEST_F(bootstrap_state_test, a_round_that_a_rank_has_given_up_does_not_start) {
  hello(0, 1);
  ASSERT_TRUE(cancel(0, 1));
  std::vector<answer> sent = take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].result, code::deadline_exceeded);
  hello(1, 5);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(state_.state(1), rank_state::absent) << "it is in the next round";
  // That begins when the rank has gone, and starts with the next program of both.
  state_.lost(0);
  EXPECT_EQ(state_.state(1), rank_state::connected);
  hello(0, 2);
  sent = take();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].rank, 0);
  EXPECT_EQ(sent[0].request, 2u);
  EXPECT_EQ(sent[0].result, code::ok);
  EXPECT_EQ(sent[1].rank, 1);
  EXPECT_EQ(sent[1].request, 5u);
  EXPECT_EQ(sent[1].result, code::ok);
}

}  // namespace
}  // namespace lci::boot
