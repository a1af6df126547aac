#include "lci/net/fifo.h"

#include "gtest/gtest.h"

namespace lci::net {
namespace {

TEST(Fifo, WhatGoesInFirstComesOutFirstAroundTheEndAndWhileItGrows) {
  fifo<int> queue;
  queue.reserve(3);
  int in = 0;
  int out = 0;
  // Rises and falls, so that it wraps around at every filling and grows with its front anywhere.
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < round % 7 + 1; ++i) queue.push_back(in++);
    for (int i = 0; i < round % 5 + 1 && !queue.empty(); ++i) {
      EXPECT_EQ(queue.front(), out++);
      queue.pop_front();
    }
    EXPECT_EQ(queue.size(), static_cast<size_t>(in - out));
  }
  EXPECT_GT(queue.size(), 3u);
  while (!queue.empty()) {
    EXPECT_EQ(queue.front(), out++);
    queue.pop_front();
  }
  EXPECT_EQ(out, in);
}

}  // namespace
}  // namespace lci::net
