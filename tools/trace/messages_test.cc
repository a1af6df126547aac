#include "tools/trace/messages.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace lci::trace {
namespace {

using observe::event;
using observe::event_kind;
using observe::recording;
using observe::wire_form;

std::vector<recording> ranks_of(int count) {
  std::vector<recording> made(static_cast<size_t>(count));
  for (int r = 0; r < count; ++r) {
    made[static_cast<size_t>(r)].rank = r;
    made[static_cast<size_t>(r)].ranks = count;
    made[static_cast<size_t>(r)].clock = "one";
    made[static_cast<size_t>(r)].threads.resize(1);
  }
  return made;
}

event message(event_kind kind, int peer, uint64_t time, uint64_t sequence, uint64_t tag) {
  event made;
  made.kind = kind;
  made.form = wire_form::tagged;
  made.peer = peer;
  made.time = time;
  made.sequence = sequence;
  made.tag = tag;
  made.size = 8;
  return made;
}

void send(recording* from, int to, uint64_t time, uint64_t sequence, uint64_t tag) {
  from->threads[0].events.push_back(message(event_kind::post, to, time, sequence, tag));
}
void arrive(recording* at, int from, uint64_t time, uint64_t sequence, uint64_t tag) {
  at->threads[0].events.push_back(message(event_kind::arrival, from, time, sequence, tag));
}

matched_messages match(const std::vector<recording>& all) {
  return match_messages(all, align_clocks(all));
}

// Tags of both ends of each arrow, sorted.
std::vector<std::pair<uint64_t, uint64_t>> tags(const std::vector<recording>& all,
                                                const matched_messages& matched) {
  std::vector<std::pair<uint64_t, uint64_t>> found;
  const auto tag = [&all](const event_place& at) {
    return all[at.recording].threads[at.thread].events[at.event].tag;
  };
  for (const arrow& each : matched.arrows) found.emplace_back(tag(each.from), tag(each.to));
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Messages, AreFoundByTheirNumber) {
  auto all = ranks_of(3);
  for (uint64_t i = 0; i < 10; ++i) {
    send(&all[0], 1, 100 + i, i, 7);
    arrive(&all[1], 0, 200 + i, i, 7);
    send(&all[0], 2, 150 + i, i, 7);
  }
  const matched_messages matched = match(all);
  ASSERT_EQ(matched.arrows.size(), 10u);
  EXPECT_EQ(matched.only_sent, 10u);
  EXPECT_EQ(matched.only_arrived, 0u);
  for (const arrow& each : matched.arrows) {
    EXPECT_EQ(each.from.recording, 0u);
    EXPECT_EQ(each.to.recording, 1u);
    EXPECT_EQ(each.from.event, 2 * each.to.event);
  }
}

TEST(Messages, ToTheSameRankAreFound) {
  auto all = ranks_of(1);
  send(&all[0], 0, 1, 0, 5);
  arrive(&all[0], 0, 2, 0, 5);
  EXPECT_EQ(match(all).arrows.size(), 1u);
}

// A ring has lost its oldest events, the other one has not.
TEST(Messages, WhoseOtherEndIsLostHaveNoArrow) {
  auto all = ranks_of(2);
  for (uint64_t i = 50; i < 60; ++i) send(&all[0], 1, 100 + i, i, 7);
  for (uint64_t i = 40; i < 55; ++i) arrive(&all[1], 0, 105 + i, i, 7);
  const matched_messages matched = match(all);
  EXPECT_EQ(matched.arrows.size(), 5u);
  EXPECT_EQ(matched.only_sent, 5u);
  EXPECT_EQ(matched.only_arrived, 10u);
}

// Two threads: each message gets an arrow, and to the arrival with its tag.
TEST(Messages, ThatWereCountedInAnotherOrderAreFoundByWhatTheyAre) {
  auto all = ranks_of(2);
  send(&all[0], 1, 10, 0, 1);
  send(&all[0], 1, 11, 1, 2);
  send(&all[0], 1, 12, 2, 3);
  arrive(&all[1], 0, 20, 0, 2);
  arrive(&all[1], 0, 21, 1, 1);
  arrive(&all[1], 0, 22, 2, 3);
  const auto found = tags(all, match(all));
  EXPECT_EQ(found, (std::vector<std::pair<uint64_t, uint64_t>>{{1, 1}, {2, 2}, {3, 3}}));
}

TEST(Messages, OfOtherDevicesRuntimesAndKindsAreOthers) {
  auto all = ranks_of(2);
  send(&all[0], 1, 10, 0, 1);
  arrive(&all[1], 0, 20, 0, 1);
  for (int what = 0; what < 4; ++what) {
    auto changed = all;
    event& arrived = changed[1].threads[0].events[0];
    if (what == 0) arrived.device = 1;
    if (what == 1) arrived.runtime = 1;
    if (what == 2) arrived.form = wire_form::active_message;
    if (what == 3) arrived.size = 9;
    const matched_messages matched = match(changed);
    EXPECT_TRUE(matched.arrows.empty()) << what;
    EXPECT_EQ(matched.only_sent, 1u);
    EXPECT_EQ(matched.only_arrived, 1u);
  }
}

TEST(Messages, NeverArriveBeforeTheyAreSent) {
  auto all = ranks_of(2);
  send(&all[0], 1, 100, 3, 1);
  arrive(&all[1], 0, 50, 2, 1);
  EXPECT_TRUE(match(all).arrows.empty());
  // The clocks of two hosts may be that wrong.
  all[1].clock = "two";
  all[1].realtime_error = 60;
  EXPECT_EQ(match(all).arrows.size(), 1u);
  all[1].realtime_error = 40;
  EXPECT_TRUE(match(all).arrows.empty());
  all[1].realtime_error = unknown_error;
  EXPECT_EQ(match(all).arrows.size(), 1u);
}

// Two threads count equal messages in another order, so that one arrives before its post.
TEST(Messages, ThatWouldArriveBeforeTheyAreSentExchangeTheirArrivals) {
  auto all = ranks_of(2);
  send(&all[0], 1, 300, 0, 1);
  send(&all[0], 1, 100, 1, 1);
  arrive(&all[1], 0, 200, 0, 1);
  arrive(&all[1], 0, 400, 1, 1);
  const matched_messages matched = match(all);
  ASSERT_EQ(matched.arrows.size(), 2u);
  for (const arrow& each : matched.arrows) EXPECT_NE(each.from.event, each.to.event);
}

// Each message has taken the arrival of the next one, so that the first arrival is left, and so is
// the last post. They have the same number, and the messages in between are many or few.
TEST(Messages, ThatTookTheArrivalsOfOthersAreMatchedAnewByTheirTimes) {
  for (const uint64_t count : {6, 65, 500, 3000}) {
    auto all = ranks_of(2);
    for (uint64_t i = 0; i < count; ++i) send(&all[0], 1, 100 * (i + 1), i, 1);
    for (uint64_t i = 0; i < count; ++i)
      arrive(&all[1], 0, 100 * (i + 1) + 50, (i + count - 1) % count, 1);
    const matched_messages matched = match(all);
    ASSERT_EQ(matched.arrows.size(), count);
    EXPECT_EQ(matched.only_sent, 0u);
    EXPECT_EQ(matched.only_arrived, 0u);
    for (const arrow& each : matched.arrows) EXPECT_EQ(each.from.event, each.to.event);
  }
}

TEST(Messages, PutsThatNotifyAreFoundWithoutTheirSize) {
  auto all = ranks_of(2);
  event put = message(event_kind::post, 1, 10, 0, 0);
  put.form = wire_form::put_end;
  put.size = 100000;
  put.detail = 7;
  event notification = message(event_kind::notification, 0, 20, 0, 0);
  notification.form = wire_form::put_end;
  notification.size = 0;
  notification.detail = 7;
  all[0].threads[0].events = {put};
  all[1].threads[0].events = {notification};
  EXPECT_EQ(match(all).arrows.size(), 1u);
  // They are counted apart from messages.
  send(&all[0], 1, 5, 0, 9);
  arrive(&all[1], 0, 15, 0, 9);
  EXPECT_EQ(match(all).arrows.size(), 2u);
}

// However messages are mixed and lost: no event has two arrows, both ends are described equally,
// and every message with both ends has one.
TEST(Messages, RandomOrdersHaveOneArrowPerMessage) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    auto all = ranks_of(2);
    std::vector<uint64_t> order(200);
    for (uint64_t i = 0; i < order.size(); ++i) order[i] = i;
    // Neighbors change places.
    for (size_t i = 0; i + 4 < order.size(); i += 4) {
      std::shuffle(order.begin() + static_cast<ptrdiff_t>(i),
                   order.begin() + static_cast<ptrdiff_t>(i) + 4, random);
    }
    // Four tags, so that many are described equally.
    for (uint64_t i = 0; i < order.size(); ++i) send(&all[0], 1, 100 + i, i, i % 4);
    for (uint64_t i = 0; i < order.size(); ++i) arrive(&all[1], 0, 1000 + i, i, order[i] % 4);
    const matched_messages matched = match(all);
    EXPECT_EQ(matched.arrows.size(), order.size());
    std::set<size_t> from;
    std::set<size_t> to;
    for (const arrow& each : matched.arrows) {
      EXPECT_TRUE(from.insert(each.from.event).second);
      EXPECT_TRUE(to.insert(each.to.event).second);
    }
    for (const auto& [sent, arrived] : tags(all, matched)) EXPECT_EQ(sent, arrived);
  }
}

TEST(Clocks, OfOneHostAreOne) {
  auto all = ranks_of(2);
  all[0].monotonic = 5;
  all[0].realtime = 1000;
  all[1].monotonic = 9;
  all[1].realtime = 1300;  // the time of day was set meanwhile
  for (const clock_offset& each : align_clocks(all)) {
    EXPECT_EQ(each.nanoseconds, 0);
    EXPECT_EQ(each.error, 0u);
  }
  EXPECT_EQ(describe(all, align_clocks(all)), "");
}

TEST(Clocks, OfSeveralHostsAreComparedByTheTimeOfDay) {
  auto all = ranks_of(3);
  all[0].monotonic = 5000;
  all[0].realtime = 100000;
  all[0].realtime_error = 2000000;
  for (size_t r : {1u, 2u}) {
    all[r].clock = "two";
    all[r].monotonic = 800000 + r;
    all[r].realtime = 100500 + 7 * r;  // that of rank 1 counts
    all[r].realtime_error = 1000000;
  }
  const auto offsets = align_clocks(all);
  // 100507 on both clocks.
  EXPECT_EQ(aligned(800001, offsets[1]), 5507);
  EXPECT_EQ(offsets[1].nanoseconds, offsets[2].nanoseconds);
  EXPECT_EQ(offsets[2].error, 3000000u);
  EXPECT_NE(describe(all, offsets).find("within 3 ms"), std::string::npos)
      << describe(all, offsets);
  all[1].realtime_error = unknown_error;
  EXPECT_NE(describe(all, align_clocks(all)).find("may be far apart"), std::string::npos);
}

}  // namespace
}  // namespace lci::trace
