#include "lci/net/mixed/device.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "lci/net/mixed/names.h"

namespace lci::net::mixed {
namespace {

// Gives what the test sets, and notes what it is asked for.
class fake_device final : public device {
 public:
  explicit fake_device(const device_limits& limits) : device(limits) {}

  error_t post(const op& operation) override {
    posted.push_back(operation);
    return errorcode_t::posted;
  }
  error_t poll(completion* out, size_t max, size_t* count) override {
    ++polls;
    for (*count = 0; *count < max && !ready.empty(); ++*count) {
      out[*count] = ready.front();
      if (!endless) ready.pop_front();
    }
    return *count > 0 ? errorcode_t::done : errorcode_t::retry;
  }
  void release(const completion& received) override { released.push_back(received.lease); }
  bool drained() override { return is_drained; }

  int polls = 0;
  std::deque<completion> ready;
  bool endless = false;  // what is ready comes again and again
  std::vector<op> posted;
  std::vector<uint64_t> released;
  bool is_drained = true;
};

// Of rank 1 of 4, with rank 3 on its host.
const hosts four_ranks = {{1, 3}, {-1, 0, -1, 1}, 2};

device_limits limits(size_t each, bool flag) {
  device_limits made;
  made.max_inject = made.max_send = made.max_rma = made.rma_short = each;
  made.latency_critical_piece = each / 2;
  made.timed_below = each + 1;
  made.needs_registration = flag;
  made.has_put_imm = !flag;
  return made;
}

struct joined {
  joined() {
    auto near_made = std::make_unique<fake_device>(limits(100, false));
    auto far_made = std::make_unique<fake_device>(limits(70, true));
    near = near_made.get();
    far = far_made.get();
    both = std::make_unique<mixed_device>(four_ranks, std::move(near_made), std::move(far_made));
  }
  fake_device* near;
  fake_device* far;
  std::unique_ptr<mixed_device> both;
};

completion make(completion_kind kind, int rank, uint64_t lease = 0) {
  completion made;
  made.kind = kind;
  made.rank = rank;
  made.lease = lease;
  return made;
}

TEST(MixedDevice, LimitsAreTheStricterOfBoth) {
  const device_limits both = joined().both->limits();
  EXPECT_EQ(both.max_inject, 70u);
  EXPECT_EQ(both.max_send, 70u);
  EXPECT_EQ(both.max_rma, 70u);
  EXPECT_EQ(both.rma_short, 70u);
  EXPECT_TRUE(both.needs_registration);
  EXPECT_FALSE(both.has_put_imm);
}

TEST(MixedDevice, LimitsOfARankAreThoseOfItsNetwork) {
  const joined made;
  for (const int rank : {0, 1, 2, 3}) {
    const bool near = rank % 2 == 1;
    const device_limits& there = made.both->limits(rank);
    EXPECT_EQ(there.needs_registration, !near) << rank;
    EXPECT_EQ(there.max_inject, near ? 100u : 70u) << rank;
    EXPECT_EQ(there.max_send, near ? 100u : 70u) << rank;
    EXPECT_EQ(there.max_rma, near ? 100u : 70u) << rank;
    EXPECT_EQ(there.rma_short, near ? 100u : 70u) << rank;
    EXPECT_EQ(there.latency_critical_piece, near ? 50u : 35u) << rank;
    EXPECT_EQ(there.timed_below, near ? 101u : 71u) << rank;
    EXPECT_FALSE(there.has_put_imm) << "which both networks must have, for rank " << rank;
  }
}

TEST(MixedDevice, ShortPutsOfOneNetworkAreShort) {
  joined made;
  const remote_place where = {join(remote_region{7, 0}, remote_region{8, 9}), 3};
  char bytes[99];
  const auto put = [&](int rank, size_t size) {
    return made.both->post_short({rank, op_kind::put}, 0, bytes, size, &where).errorcode;
  };
  EXPECT_EQ(put(1, 99), errorcode_t::posted) << "to rank 1, whose network needs no registration";
  EXPECT_EQ(put(0, 8), errorcode_t::retry) << "to rank 0, whose network does";
  ASSERT_EQ(made.near->posted.size(), 1u);
  EXPECT_EQ(made.near->posted[0].rank, 0);
  EXPECT_EQ(made.near->posted[0].remote.base, 7u);
  EXPECT_EQ(made.near->posted[0].remote_offset, 3u);
  EXPECT_TRUE(made.far->posted.empty());
}

TEST(MixedDevice, PostsToTheNetworkOfTheRank) {
  joined made;
  op sent;
  sent.local = join(local_region{5}, local_region{6});
  sent.remote = join(remote_region{7, 0}, remote_region{8, 9});
  for (const int rank : {0, 1, 2, 3}) {
    sent.rank = rank;
    EXPECT_TRUE(made.both->post(sent).is_posted());
    EXPECT_TRUE(made.both->post_short({rank, op_kind::send}, 1, &sent, 8, nullptr).is_posted());
  }
  ASSERT_EQ(made.near->posted.size(), 4u);
  ASSERT_EQ(made.far->posted.size(), 4u);
  EXPECT_EQ(made.near->posted[1].rank, 0) << "of rank 1";
  EXPECT_EQ(made.near->posted[2].rank, 1) << "of rank 3";
  EXPECT_EQ(made.near->posted[2].local.handle, 5u);
  EXPECT_EQ(made.near->posted[2].remote.base, 7u);
  EXPECT_EQ(made.near->posted[2].remote.key, near_key(9));
  EXPECT_EQ(made.far->posted[0].rank, 0);
  EXPECT_EQ(made.far->posted[2].rank, 2);
  EXPECT_EQ(made.far->posted[2].local.handle, 6u);
  EXPECT_EQ(made.far->posted[2].remote.base, 8u);
  EXPECT_EQ(made.far->posted[2].remote.key, 9u);
}

// The completions of so many polls.
std::vector<completion> poll(mixed_device& polled, int times) {
  std::vector<completion> all;
  for (int i = 0; i < times; ++i) {
    completion out[2];
    size_t count = 0;
    const error_t result = polled.poll(out, 2, &count);
    EXPECT_EQ(result.is_done(), count > 0);
    all.insert(all.end(), out, out + count);
  }
  return all;
}

TEST(MixedDevice, CompletionsNameRanksOfTheJob) {
  joined made;
  made.near->ready = {make(completion_kind::recv, 1, 17), make(completion_kind::remote_put, 0),
                      make(completion_kind::send, -1), make(completion_kind::peer_failed, 1)};
  std::vector<completion> got = poll(*made.both, 2);
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].rank, 3);
  EXPECT_EQ(got[1].rank, 1);
  EXPECT_EQ(got[3].rank, 3);
  made.both->release(got[0]);
  EXPECT_EQ(made.near->released, std::vector<uint64_t>{17});
  EXPECT_TRUE(made.far->released.empty());

  made.far->ready = {make(completion_kind::recv, 2, 17), make(completion_kind::peer_failed, 0)};
  got = poll(*made.both, 100);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].rank, 2);
  EXPECT_EQ(got[1].rank, 0);
  made.both->release(got[0]);
  EXPECT_EQ(made.far->released, std::vector<uint64_t>{17});
  EXPECT_EQ(made.near->released.size(), 1u);
}

TEST(MixedDevice, OnlyTheNearNetworkReportsFailedNeighbors) {
  joined made;
  made.far->ready = {make(completion_kind::peer_failed, 3), make(completion_kind::recv, 2),
                     make(completion_kind::peer_failed, 2)};
  const std::vector<completion> got = poll(*made.both, 100);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].kind, completion_kind::recv);
  EXPECT_EQ(got[1].kind, completion_kind::peer_failed);
  EXPECT_EQ(got[1].rank, 2);
}

TEST(MixedDevice, EndlessNearTrafficDoesNotStarveTheFarNetwork) {
  joined made;
  made.near->endless = true;
  made.near->ready = {make(completion_kind::recv, 1)};
  made.far->ready = {make(completion_kind::recv, 2)};
  size_t of_far = 0;
  for (const completion& each : poll(*made.both, 100)) of_far += each.rank == 2 ? 1 : 0;
  EXPECT_EQ(of_far, 1u);
  EXPECT_GT(made.near->polls, 90);
}

TEST(MixedDevice, EndlessFarTrafficDoesNotStarveTheNearNetwork) {
  joined made;
  made.far->endless = true;
  made.far->ready = {make(completion_kind::recv, 2)};
  made.near->ready = {make(completion_kind::recv, 1)};
  size_t of_near = 0;
  for (const completion& each : poll(*made.both, 100)) of_near += each.rank == 3 ? 1 : 0;
  EXPECT_EQ(of_near, 1u);
  EXPECT_GT(made.far->polls, 2);
}

TEST(MixedDevice, DevicesPolledInTurnEachPollTheFarNetwork) {
  for (size_t devices = 1; devices <= 8; ++devices) {
    std::vector<joined> all(devices);
    for (int i = 0; i < 100; ++i) {
      for (joined& each : all) poll(*each.both, 1);
    }
    for (const joined& each : all) EXPECT_GT(each.far->polls, 10) << devices << " devices";
  }
}

TEST(MixedDevice, IsDrainedWhenBothAre) {
  joined made;
  EXPECT_TRUE(made.both->drained());
  made.near->is_drained = false;
  EXPECT_FALSE(made.both->drained());
  made.near->is_drained = true;
  made.far->is_drained = false;
  EXPECT_FALSE(made.both->drained());
}

}  // namespace
}  // namespace lci::net::mixed
