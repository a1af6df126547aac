// Blocks that two ranks copy concurrently, and ranks that give up meanwhile.
#include "lci/coll/cooperative_operation.h"

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/coll/arena.h"
#include "lci/coll/operations.h"
#include "lci/coll/rooted.h"
#include "lci/testing/arena_ranks/arena_ranks.h"

namespace lci::coll {
namespace {

constexpr size_t bytes = size_t{1} << 20;

broadcast make_broadcast(test_rank& rank, std::vector<char>* buffer) {
  return {rank.begin({operation_kind::broadcast, 0, bytes}), buffer->data(), bytes, 0};
}

std::string error_of(operation* advanced) {
  try {
    while (!advanced->advance()) sched_yield();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

// Access to the memory of the test's own process that counts, and does what the test says.
class observed_access {
 public:
  arena::memory_access get() {
    const auto read = [this](int rank, void* to, uint64_t from, size_t size) {
      if (rank == ended) return false;
      ++reads;
      return copies_.read(rank, to, from, size);
    };
    const auto write = [this](int rank, uint64_t to, const void* from, size_t size) {
      ++writes;
      if (before_write) before_write();
      return copies_.write(rank, to, from, size);
    };
    return {read, write};
  }

  std::function<void()> before_write;
  std::atomic<int> ended{-1};
  std::atomic<int> reads{0};
  std::atomic<int> writes{0};

 private:
  const arena::memory_access copies_ = test_ranks::copies();
};

class CooperativeOperation : public testing::Test {
 protected:
  // Returns a thread that carries out a broadcast as its root. Each write sets is_writing and waits
  // for may_continue. The operation ends because the other rank breaks it off.
  std::thread start_root(test_rank& root) {
    access.before_write = [this] {
      is_writing = true;
      while (!may_continue) sched_yield();
      for (int turn = 0; turn < 100; ++turn) sched_yield();
      is_writing = false;
    };
    return std::thread([this, &root] {
      broadcast from = make_broadcast(root, &sent);
      EXPECT_NE(error_of(&from).find("broke off"), std::string::npos);
    });
  }

  observed_access access;
  std::vector<char> sent = std::vector<char>(bytes, 's');
  std::vector<char> received = std::vector<char>(bytes);
  std::atomic<bool> is_writing{false};
  std::atomic<bool> may_continue{false};
};

TEST_F(CooperativeOperation, BothRanksCopy) {
  test_ranks ranks(2, access.get(), sizes_without_pipes);
  broadcast root = make_broadcast(ranks[0], &sent);
  broadcast other = make_broadcast(ranks[1], &received);
  EXPECT_FALSE(other.advance());
  // While the root copies its first piece, the other rank copies all others.
  access.before_write = [&other] { EXPECT_FALSE(other.advance()); };
  EXPECT_TRUE(root.advance());
  EXPECT_EQ(access.writes, 1);
  EXPECT_EQ(access.reads, 7);
  EXPECT_TRUE(other.advance());
  EXPECT_EQ(received, sent);
}

// The root would otherwise hold up a rank until the last one arrives.
TEST_F(CooperativeOperation, ARankDoesNotWaitForAThirdOne) {
  test_ranks ranks(3, access.get(), sizes_without_pipes);
  broadcast root = make_broadcast(ranks[0], &sent);
  broadcast early = make_broadcast(ranks[1], &received);
  EXPECT_FALSE(early.advance());
  EXPECT_FALSE(root.advance());  // copies the whole block
  EXPECT_GT(access.writes, 1);
  EXPECT_TRUE(early.advance());
  EXPECT_EQ(access.reads, 0);
  EXPECT_EQ(received, sent);
  std::vector<char> late_received(bytes);
  broadcast late = make_broadcast(ranks[2], &late_received);
  EXPECT_TRUE(late.advance());
  EXPECT_TRUE(root.advance());
  EXPECT_EQ(late_received, sent);
}

// Not commutative: the operands are combined in the order of the ranks.
void twice_left_and_right(const void* left, const void* right, void* result, size_t count) {
  const auto* a = static_cast<const uint64_t*>(left);
  const auto* b = static_cast<const uint64_t*>(right);
  for (size_t i = 0; i < count; ++i) static_cast<uint64_t*>(result)[i] = 2 * a[i] + b[i];
}

TEST_F(CooperativeOperation, AllRanksCombinePiecesOfAReduction) {
  constexpr size_t count = bytes / sizeof(uint64_t);
  test_ranks ranks(3, access.get(), sizes_without_pipes);
  std::vector<uint64_t> operands[3];
  for (uint64_t r = 0; r < 3; ++r) operands[r].assign(count, 10 + r);
  const auto make = [&](int rank) -> reduce {
    // At the root, the result takes the place of the operand.
    uint64_t* const own = operands[rank].data();
    return {ranks[rank].begin({operation_kind::reduce, 1, bytes, sizeof(uint64_t)}),
            {own, rank == 1 ? own : nullptr, bytes, sizeof(uint64_t), twice_left_and_right},
            1};
  };
  reduce first = make(0);
  reduce root = make(1);
  reduce last = make(2);
  EXPECT_FALSE(first.advance());
  EXPECT_FALSE(root.advance());
  // While one rank writes its first piece, another one takes a piece, and the root takes the rest.
  int writes_begun = 0;
  access.before_write = [&] {
    const bool is_over = (++writes_begun == 1 ? first : root).advance();
    EXPECT_FALSE(is_over);
  };
  EXPECT_TRUE(last.advance());
  EXPECT_EQ(access.writes, 2);
  EXPECT_TRUE(first.advance());
  EXPECT_TRUE(root.advance());
  EXPECT_EQ(operands[1], std::vector<uint64_t>(count, 2 * 10 + (2 * 11 + 12)));
}

TEST_F(CooperativeOperation, NoRankWritesToMemoryOfOneThatHasGivenUp) {
  test_ranks ranks(3, access.get(), sizes_without_pipes);
  broadcast root = make_broadcast(ranks[0], &sent);
  {
    broadcast other = make_broadcast(ranks[1], &received);
    EXPECT_FALSE(other.advance());
    other.give_up(2);
  }
  EXPECT_EQ(error_of(&root), "lci: rank 2 is gone (found by rank 1 in collective operation 1)");
  EXPECT_EQ(access.writes, 0);
  EXPECT_EQ(received, std::vector<char>(bytes));
}

TEST_F(CooperativeOperation, NoLateRankWritesToMemoryOfOneThatHasGivenUp) {
  test_ranks ranks(2, access.get(), sizes_without_pipes);
  std::vector<char> all(2 * bytes);
  {
    gather giving_up(ranks[0].begin({operation_kind::gather, 0, bytes}), sent.data(), all.data(),
                     bytes, 0);
    EXPECT_FALSE(giving_up.advance());
  }
  gather late(ranks[1].begin({operation_kind::gather, 0, bytes}), sent.data(), nullptr, bytes, 0);
  EXPECT_NE(error_of(&late).find("broke off"), std::string::npos);
  EXPECT_EQ(access.writes, 0);
}

TEST_F(CooperativeOperation, ARankThatGivesUpWaitsForTheOneThatWritesToItsMemory) {
  test_ranks ranks(2, access.get(), sizes_without_pipes);
  broadcast other = make_broadcast(ranks[1], &received);
  EXPECT_FALSE(other.advance());
  std::thread root = start_root(ranks[0]);
  while (!is_writing) sched_yield();
  may_continue = true;
  other.end();
  EXPECT_FALSE(is_writing);
  const std::vector<char> at_end = received;
  root.join();
  EXPECT_EQ(received, at_end);
  EXPECT_EQ(access.writes, 1);
}

TEST_F(CooperativeOperation, ARankThatGivesUpDoesNotWaitForAnEndedProcess) {
  access.ended = 0;
  test_ranks ranks(2, access.get(), sizes_without_pipes);
  broadcast other = make_broadcast(ranks[1], &received);
  EXPECT_FALSE(other.advance());
  // The root "has ended" in the middle of a write, thus it does not finish that.
  std::thread root = start_root(ranks[0]);
  while (!is_writing) sched_yield();
  other.end();
  may_continue = true;
  root.join();
  EXPECT_EQ(access.writes, 1);
}

}  // namespace
}  // namespace lci::coll
