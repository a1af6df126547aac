#include "lci/net/completion_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lci::net {
namespace {

completion numbered(int number) {
  completion made;
  made.rank = number;
  return made;
}

std::vector<int> poll_of(completion_sink& sink, size_t max, const std::vector<int>& added) {
  std::vector<completion> out(max);
  sink.begin(out.data(), max);
  for (const int each : added) sink.give(numbered(each));
  out.resize(sink.end());
  std::vector<int> numbers;
  for (const completion& each : out) numbers.push_back(each.rank);
  return numbers;
}

TEST(CompletionSink, WhatAPollHasNoRoomForWaitsInOrder) {
  completion_sink sink;
  sink.reserve(4);
  EXPECT_THAT(poll_of(sink, 2, {1, 2, 3}), testing::ElementsAre(1, 2));
  EXPECT_TRUE(sink.has_waiting());
  sink.give(numbered(4));  // between two polls
  EXPECT_THAT(poll_of(sink, 1, {5}), testing::ElementsAre(3));
  EXPECT_THAT(poll_of(sink, 4, {6}), testing::ElementsAre(4, 5, 6));
  EXPECT_FALSE(sink.has_waiting());
  EXPECT_THAT(poll_of(sink, 4, {}), testing::IsEmpty());
}

TEST(CompletionSink, TheProgressIsThatOfOnePoll) {
  completion_sink sink;
  completion out;
  sink.begin(&out, 1);
  EXPECT_EQ(sink.room(), 1u);
  EXPECT_FALSE(sink.has_progress());
  sink.note_progress();
  EXPECT_TRUE(sink.has_progress());
  EXPECT_EQ(sink.end(), 0u);
  sink.begin(&out, 1);
  EXPECT_FALSE(sink.has_progress());
  sink.give(numbered(1));
  EXPECT_EQ(sink.room(), 0u);
  EXPECT_EQ(sink.end(), 1u);
}

TEST(CompletionSink, IsFullOnlyDuringAPollThatTakesSome) {
  completion_sink sink;
  completion out;
  EXPECT_FALSE(sink.is_full());
  sink.begin(&out, 1);
  EXPECT_FALSE(sink.is_full());
  sink.deliver(numbered(1));
  EXPECT_TRUE(sink.is_full());
  sink.give(numbered(2));
  EXPECT_EQ(sink.end(), 1u);
  EXPECT_FALSE(sink.is_full());
  sink.begin(nullptr, 0);
  EXPECT_FALSE(sink.is_full());
  EXPECT_EQ(sink.waiting(), 1u);
  EXPECT_EQ(sink.end(), 0u);
}

}  // namespace
}  // namespace lci::net
